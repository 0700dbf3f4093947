"""How one relation differs between two commits, from manifests where they say enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from dbt.adapters.vcs.core.model import Snapshot, TableEntry
from dbt.adapters.vcs.core.model.tree import AbsentType
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.plan.tree_merge import Change
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.diffs.matched_columns import column_changes
from dbt.adapters.vcs.rows.compare.row_counts import Counts
from dbt.adapters.vcs.rows.limits import Limits, in_process_first
from dbt.adapters.vcs.verbs.reading.diff_report import ColumnDiff, RelationDiff

_SETTINGS: Final = ("primary_key", "partition_by", "cluster_by", "comment", "properties")


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePair:
    """Two versions of tables to be compared.

    Attributes:
        repository: The repository with both.
        draft: The report, without what the comparison adds.
        before: The first version; None is a table without rows.
        after: The second version; the same.
        columns: Names of the only columns to compare besides the key; empty for all.
    """

    repository: Repository
    draft: RelationDiff
    before: Snapshot | None
    after: Snapshot | None
    columns: tuple[str, ...] = ()

    def counted(self, limits: Limits) -> RelationDiff:
        """Return the report with counts: those of the files where rows are too many to read."""
        change = delta(self.before, self.after, self.repository.objects.segment)
        in_files = Counts(change.rows_added, change.rows_removed, 0)
        if not self.columns and not (in_files.added and in_files.removed):
            return self.with_counts(in_files)
        return in_process_first(
            lambda: self.with_counts(self._read(limits)),
            lambda: self.with_counts(in_files, is_exact=False),
        )

    def with_counts(self, counts: Counts, *, is_exact: bool = True) -> RelationDiff:
        """Return the report with these counts, and with how columns and settings differ."""
        before, after, how = self.before, self.after, self.draft.how
        columns = self._column_diffs()
        settings: tuple[str, ...] = ()
        if before is not None and after is not None:
            if not self.columns:
                settings = tuple(
                    item for item in _SETTINGS if getattr(before, item) != getattr(after, item)
                )
            if not (any(counts) or columns or settings):
                how = "equal"
        return replace(
            self.draft,
            how=how,
            rows_added=counts.added,
            rows_removed=counts.removed,
            rows_modified=counts.modified,
            is_exact=is_exact,
            columns=columns,
            settings=settings,
        )

    def _read(self, limits: Limits) -> Counts:
        # Rows take pyarrow, which takes longer to load than most diffs take in all.
        from dbt.adapters.vcs.diffs.difference import Difference

        difference = Difference(
            repository=self.repository,
            before=self.before,
            after=self.after,
            columns=self.columns,
        )
        return difference.counts(limits=limits)

    def _column_diffs(self) -> tuple[ColumnDiff, ...]:
        chosen = {name.lower() for name in self.columns}
        return tuple(
            ColumnDiff(kind=kind, column=column, before=before, after=after)
            for kind, column, before, after in column_changes(self.before, self.after)
            if not chosen or column.lower() in chosen
        )


def relation_diff(repository: Repository, change: Change, limits: Limits) -> RelationDiff:
    """Return how a relation differs; rows are read only of tables that gained and lost some."""
    name, old, new = change
    shown = old if isinstance(new, AbsentType) else new
    assert not isinstance(shown, AbsentType)
    how = "changed"
    if isinstance(old, AbsentType) or isinstance(new, AbsentType):
        how = "added" if isinstance(old, AbsentType) else "removed"
    draft = RelationDiff(name=str(name), kind=shown.noun, how=how)
    before, after = (
        repository.objects.snapshot(entry.snapshot) if isinstance(entry, TableEntry) else None
        for entry in (old, new)
    )
    if before is None and after is None:
        return draft
    pair = TablePair(repository=repository, draft=draft, before=before, after=after)
    return pair.counted(limits)
