"""Sessions of an engine that a verb may need, and mostly doesn't."""

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
    """Give one session of an engine that is made when it is first asked for.

    Args:
        engine: Makes it; None for the default one, with no settings.
        blobs: The repository's store.
        label: Describes the session's jobs to a person.
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
