"""Three-way differences: what two versions of a table changed since their common base.

The differences of both sides from the base are joined row by row; files that neither side changed
are not read. A row of the result is a primary key or, without a key, a row's content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import Snapshot
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.diffs.diff_query import delta_parts, diff_query
from dbt.adapters.vcs.diffs.row_diff import diff
from dbt.adapters.vcs.diffs.three_join import counted_rows, keyed_rows
from dbt.adapters.vcs.diffs.three_plan import Plan
from dbt.adapters.vcs.diffs.three_query import counted_query, keyed_query
from dbt.adapters.vcs.engines.version_mounts import VersionMounts
from dbt.adapters.vcs.rows.compare.comparison import VersionComparison
from dbt.adapters.vcs.rows.compare.row_bases import merge_base
from dbt.adapters.vcs.rows.in_process import in_process_first
from dbt.adapters.vcs.rows.limits import LIMITS, Limits


@dataclass(frozen=True, kw_only=True)
class ThreeWay:
    """Two versions to compare with the version that both come from.

    With a primary key in all three versions, the columns are those of the key; `our_diff_type` and
    `their_diff_type` (added, removed, modified; NULL if the side left the row unchanged); then
    `base_<column>`, `our_<column>`, `their_<column>` for each column, NULL if there is no such
    row. One row for each key that a side changed.

    Without a key, they are the types (added or removed); `our_diff_count` and `their_diff_count`
    (bigint: how many more or fewer rows of this content a side has than the base, 0 if equal);
    then the table's columns. One row for each content whose count a side changed.

    A column that a side dropped is left out. A renamed one has its new name, preferably that of
    ours.
    """

    repository: Repository
    base: Snapshot
    ours: Snapshot
    theirs: Snapshot
    columns: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        repository: Repository,
        ours: SnapshotId | None,
        theirs: SnapshotId | None,
        columns: Sequence[str] = (),
    ) -> ThreeWay:
        """Return the difference of two versions from their base: the newest, if there are several.

        Raises:
            InputError: A version doesn't exist, or they have no common base.
        """
        read = repository.objects.snapshot
        if ours is None or theirs is None:
            raise InputError(
                "A three-way diff needs two versions of a table, and one of them has no such "
                "table. Compare them in the shape wide."
            )
        base = merge_base(repository.objects, ours, theirs)
        if base is None:
            raise InputError(
                "The two versions have no common ancestor, so there is no base to compare them "
                "with. Compare them with each other: shape wide."
            )
        return cls(
            repository=repository,
            base=read(base),
            ours=read(ours),
            theirs=read(theirs),
            columns=tuple(columns),
        )

    def table(self, *, limits: Limits = LIMITS) -> pa.Table:
        """Compare with Arrow and return the rows.

        Raises:
            InputError: There is no such column, or a column has the name of one in the result.
            UnsupportedError: Arrow can't read or compare a column, or no engine could.
            TooLargeError: There are too many rows.
        """
        plan = Plan.of(self.base, self.ours, self.theirs, self.columns)
        found = [
            diff(self.repository, self.base, side, columns=names, limits=limits)
            for side, names in self._sides(plan)
        ]
        return (keyed_rows if plan.key else counted_rows)(plan, found)

    def by_engine(self, session: VersionMounts) -> str:
        """Return the query that compares the rows, and mount what it reads.

        Raises:
            InputError: There is no such column, or a column has the name of one in the result.
            UnsupportedError: A column has types that can't be compared.
        """
        plan = Plan.of(self.base, self.ours, self.theirs, self.columns)
        queries = []
        for side, names in self._sides(plan):
            comparison = VersionComparison.of(self.base, side, names)
            change = delta(self.base, side, self.repository.objects.segment)
            parts = delta_parts(session, change, comparison)
            queries.append(diff_query(parts, comparison, "wide" if plan.key else "signed"))
        return (keyed_query if plan.key else counted_query)(plan, *queries)

    def relation(
        self, session: VersionMounts, *, name: str | None = None, limits: Limits = LIMITS
    ) -> str:
        """Return SQL for a relation with the rows, as `Difference.relation` does."""
        rows = in_process_first(lambda: self.table(limits=limits), lambda: self.by_engine(session))
        return self.mounted(session, rows, name=name)

    def mounted(
        self, session: VersionMounts, rows: pa.Table | str, *, name: str | None = None
    ) -> str:
        """Return SQL for a relation of the rows, as `Difference.mounted` does."""
        if isinstance(rows, str):
            return f"({rows})"
        return session.mount_arrow(name or self._name, rows, lasting=name is None)

    def _sides(self, plan: Plan) -> Iterator[tuple[Snapshot, list[str]]]:
        """Yield each side's difference with the names of the columns to compare."""
        for side, names in (
            (self.ours, [column.ours for column in plan.columns]),
            (self.theirs, [column.theirs for column in plan.columns]),
        ):
            yield side, [name for name in names if name is not None]

    @property
    def _name(self) -> str:
        sides = [msgspec.json.encode(side) for side in (self.base, self.ours, self.theirs)]
        told = repr((sides, self.columns, "three_way"))
        return f"__vcs_diff_{hashlib.sha256(told.encode()).hexdigest()[:32]}"
