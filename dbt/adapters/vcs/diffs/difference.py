"""Differences of two versions of tables: small ones in this process, others by the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, Snapshot
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.diffs.diff_query import delta_parts, diff_query, signed_part
from dbt.adapters.vcs.diffs.matched_columns import matched, needs_names
from dbt.adapters.vcs.diffs.row_diff import TableDiff, count_changes, diff
from dbt.adapters.vcs.diffs.shapes import shaped
from dbt.adapters.vcs.engines.version_mounts import VersionMounts
from dbt.adapters.vcs.rows.compare.comparison import VersionComparison
from dbt.adapters.vcs.rows.compare.row_counts import Counts
from dbt.adapters.vcs.rows.in_process import in_process_first
from dbt.adapters.vcs.rows.limits import LIMITS, Limits
from dbt.adapters.vcs.rows.quoting import quoted
from dbt.adapters.vcs.statements.syntax.diff_call import TwoWayShape
from dbt.adapters.vcs.worktree.table_version import Version

_OWN: Final[dict[TwoWayShape, str]] = {"signed": "diff_count", "changes": "_change_type"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two versions to compare.

    Attributes:
        repository: The repository with both.
        before: The first version; None is a table without rows.
        after: The second version; the same.
        columns: Names of the only columns to compare and show besides the key; empty for all.
        shown: Lower-case names of the only columns that the rows need to have, where Arrow
            compares; None for all.
    """

    repository: Repository
    before: Snapshot | None
    after: Snapshot | None
    columns: tuple[str, ...] = ()
    shown: frozenset[str] | None = None

    def in_process(self, *, limits: Limits = LIMITS) -> TableDiff:
        """Compare the rows with Arrow; files that both versions have are not read.

        Raises:
            InputError: There is no such column, or neither version is given.
            UnsupportedError: Arrow can't read or compare a column, or no engine could.
            TooLargeError: There are too many rows.
        """
        before, after = matched(self.before, self.after)
        if needs_names(self.before, self.after):
            raise UnsupportedError(
                "Tables that are not related, and have columns that were renamed, can't be "
                "compared without Spark."
            )
        columns = self.columns or None
        return diff(
            self.repository, before, after, columns=columns, shown=self.shown, limits=limits
        )

    def counts(self, *, limits: Limits = LIMITS) -> Counts:
        """Return the numbers of rows added, removed and modified; raises as `in_process` does."""
        if self.columns or needs_names(self.before, self.after):
            return self.in_process(limits=limits).counts
        before, after = matched(self.before, self.after)
        return count_changes(self.repository, before, after, limits=limits)

    def table(self, shape: TwoWayShape, *, limits: Limits = LIMITS) -> pa.Table:
        """Return the rows in a shape; compares and raises as `in_process` does."""
        found = self.in_process(limits=limits)
        _check_names(found.comparison.fields, shape)
        return shaped(found, shape)

    def by_engine(self, session: VersionMounts, shape: TwoWayShape) -> str:
        """Return the query that compares the rows, and mount what it reads.

        Raises:
            InputError: There is no such column, or neither version is given.
            UnsupportedError: A column has types that can't be compared.
        """
        before, after = matched(self.before, self.after)
        comparison = VersionComparison.of(before, after, self.columns or None)
        _check_names(comparison.fields, shape)
        parts: Iterable[str]
        if needs_names(self.before, self.after):
            parts = [
                *self._whole(session, self.before, before, -1, comparison.fields),
                *self._whole(session, self.after, after, 1, comparison.fields),
            ]
        else:
            change = delta(before, after, self.repository.objects.segment)
            parts = delta_parts(session, change, comparison)
        return diff_query(parts, comparison, shape)

    def relation(
        self,
        session: VersionMounts,
        shape: TwoWayShape,
        *,
        name: str | None = None,
        limits: Limits = LIMITS,
    ) -> str:
        """Return SQL for a relation with the rows, to put after `from`.

        Args:
            session: The session that reads it.
            shape: The shape of the rows.
            name: The relation's name in the session, where it replaces any other of that name;
                None for a name that means this difference as long as the session lives.
            limits: The most to compare in this process.

        Raises:
            InputError: There is no such column, or neither version is given.
            UnsupportedError: A column has types that can't be compared.
        """
        rows = in_process_first(
            lambda: self.table(shape, limits=limits), lambda: self.by_engine(session, shape)
        )
        return self.mounted(session, rows, shape, name=name)

    def mounted(
        self,
        session: VersionMounts,
        rows: pa.Table | str,
        shape: TwoWayShape,
        *,
        name: str | None = None,
    ) -> str:
        """Return SQL for a relation of compared rows, or of a query that compares them.

        Otherwise as `Difference.relation`.
        """
        if isinstance(rows, str):
            return f"({rows})"
        return session.mount_arrow(name or self._name(shape), rows)

    def _name(self, shape: TwoWayShape) -> str:
        """Return a name unique to this difference."""
        sides = [msgspec.json.encode(side) for side in (self.before, self.after)]
        shown = None if self.shown is None else sorted(self.shown)
        told = repr((sides, self.columns, shown, shape))
        return f"__vcs_diff_{hashlib.sha256(told.encode()).hexdigest()[:32]}"

    def _whole(
        self,
        session: VersionMounts,
        stored: Snapshot | None,
        named: Snapshot | None,
        sign: int,
        fields: Sequence[Field],
    ) -> Iterable[str]:
        """Yield the query for all rows of a version, with columns matched to the other's."""
        if stored is None or named is None:
            return
        ids = {
            new.id: old.id
            for new, old in zip(named.schema.fields, stored.schema.fields, strict=True)
        }
        columns = [
            (
                f"cast({quoted(ids[field.id]) if field.id in ids else 'null'} as {field.type})",
                field.type,
            )
            for field in fields
        ]
        relation = session.mount_physical(Version.of(self.repository, stored).mount())
        yield signed_part(relation, sign, columns)


def _check_names(fields: Sequence[Field], shape: TwoWayShape) -> None:
    own = _OWN.get(shape)
    if any(field.name.lower() == own for field in fields):
        raise InputError(
            f"The shape {shape} has a column {own} of its own, and so has the table. Ask for the "
            "shape wide, or for other columns."
        )
