"""The caller of a verb: who it is, and what is meant where nothing is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.merges.protection import Rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls a verb, and where.

    Attributes:
        repository: The repository.
        author: Whom changes are recorded for.
        branch: The branch that is meant where none is given.
        now: The moment that ages are counted from.
        engine: Makes the engine; None for one with no settings.
        rules: What the project asks of its branches and merges.
    """

    repository: Repository
    author: str
    branch: str
    now: datetime
    engine: Callable[[], Engine] | None = None
    rules: Rules = field(default_factory=Rules)
