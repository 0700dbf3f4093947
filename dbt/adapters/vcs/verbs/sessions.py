"""Engine sessions that a verb may need, but usually doesn't."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.factory import make_engine
from dbt.adapters.vcs.engines.port import Engine, Session, Sessions


@contextmanager
def sessions_of(
    engine: Callable[[], Engine] | None, blobs: Blobs, label: str
) -> Iterator[Sessions]:
    """Yield a function that returns one session of an engine, created on first use.

    Args:
        engine: Creates the engine; None for the default one, with no settings.
        blobs: The repository's store.
        label: A description of the session's jobs for people.
    """
    made: Engine | None = None
    session: Session | None = None

    def found() -> Session:
        nonlocal made, session
        if session is None:
            made = engine() if engine is not None else make_engine(blobs)
            session = made.session(label)
        return session

    try:
        yield found
    finally:
        if made is not None:
            made.close()
