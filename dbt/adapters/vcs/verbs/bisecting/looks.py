"""Looks: whether a condition holds on a commit, each set of versions looked at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from dbt.adapters.vcs.core.errors import DamagedError, EngineError, InputError
from dbt.adapters.vcs.core.history.bisection import Mark
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine, Rows
from dbt.adapters.vcs.verbs.bisecting.condition import FORMS, BisectCondition
from dbt.adapters.vcs.verbs.bisecting.plain_query import OpenTable, plain_answer, plain_query
from dbt.adapters.vcs.verbs.bisecting.versions_read import ReadVersions, VersionsRead
from dbt.adapters.vcs.workspace.line_workspace import Connection, Workspace
from dbt.adapters.vcs.workspace.lines import PinnedLine

_FEW: Final = 2
"""Rows that are enough to tell one row from several."""


class Answer(NamedTuple):
    """What a look found.

    Attributes:
        mark: Good, bad, or that it can't be told.
        reason: Why it can't be told; else empty.
    """

    mark: Mark
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What looks are done with.

    Attributes:
        schema: The schema of names without one.
        engine: Makes the engine, when a look first needs it.
        open_table: Opens a table for this process; None to leave every look to the engine.
    """

    schema: str
    engine: Callable[[], Engine]
    open_table: OpenTable | None = None


class Looks:
    """Answers a condition on commits.

    Attributes:
        done: How many commits were computed on.
    """

    def __init__(self, repository: Repository, condition: BisectCondition, means: Means) -> None:
        """Take a condition; nothing is looked at yet."""
        self.done = 0
        self._condition = condition
        self._means = means
        self._versions = ReadVersions(repository, condition.text, means.schema)
        self._plain = plain_query(self._versions.query) if means.open_table else None
        self._read: dict[CommitId, VersionsRead | None] = {}
        self._answers: dict[str, Answer] = {}
        self._workspace = Workspace(
            repository,
            PinnedLine(lambda: _no_head(), "a bisection only reads"),
            means.engine,
            schema=means.schema,
        )
        self._connection: Connection | None = None

    def versions(self, commit: CommitId) -> VersionsRead | None:
        """Return what the condition reads on a commit; None if the commit can't be read."""
        if commit not in self._read:
            try:
                self._read[commit] = self._versions.on(commit)
            except DamagedError:
                self._read[commit] = None
        return self._read[commit]

    def digest(self, commit: CommitId) -> str | None:
        """Return one text for the versions read on a commit; None if it can't be read."""
        read = self.versions(commit)
        return None if read is None else read.digest

    def at(self, commit: CommitId) -> Answer:
        """Return whether a commit is good.

        Raises:
            InputError: The result of the query is in no form that says so.
        """
        read = self.versions(commit)
        if read is None:
            return Answer(Mark.SKIPPED, "what it shows has been collected or is damaged")
        if read.missing:
            gone = ", ".join(map(str, read.missing))
            return Answer(Mark.SKIPPED, f"there is no {gone}")
        if read.digest not in self._answers:
            self._answers[read.digest] = self._found(read, commit)
        return self._answers[read.digest]

    def close(self) -> None:
        """Release the engine."""
        if self._connection is not None:
            self._connection.close()
        self._workspace.close()

    def _found(self, read: VersionsRead, commit: CommitId) -> Answer:
        self.done += 1
        try:
            is_good = self._here(read, commit)
            rows = None if is_good is not None else self._rows(commit)
            values = rows.fetch(_FEW) if rows is not None else []
        except (DamagedError, EngineError, InputError) as error:
            return Answer(Mark.SKIPPED, str(error))
        if rows is not None:
            is_good = _told(self._condition, [column.type for column in rows.columns], values)
        if is_good is None:
            return Answer(Mark.SKIPPED, "the condition is NULL")
        return Answer(Mark.GOOD if is_good else Mark.BAD)

    def _here(self, read: VersionsRead, commit: CommitId) -> bool | None:
        open_table = self._means.open_table
        if self._plain is None or open_table is None:
            return None
        return plain_answer(self._plain, self._condition.kind, read, commit, open_table)

    def _rows(self, commit: CommitId) -> Rows:
        if self._connection is None:
            self._connection = self._workspace.connect("bisect")
        overlay = self._workspace.begin(commit)
        outcome = self._connection.execute(
            self._condition.text, overlay, origin=Origin(), read_only=True
        )
        assert outcome.rows is not None, "a query has rows"
        return outcome.rows


def _told(
    condition: BisectCondition, types: list[str], rows: list[tuple[object, ...]]
) -> bool | None:
    """Return what a result says; None if it is NULL.

    Raises:
        InputError: It is one boolean, but not of one row.
    """
    if condition.kind == "failures" or (condition.kind == "by columns" and types != ["boolean"]):
        return not rows
    if len(rows) != 1:
        found = "no row" if not rows else "several rows"
        raise InputError(
            f"Expected one row with one boolean from the condition, found {found}. Write {FORMS}."
        )
    value = rows[0][0]
    return None if value is None else bool(value)


def _no_head() -> CommitId:
    raise AssertionError("each look names its commit")
