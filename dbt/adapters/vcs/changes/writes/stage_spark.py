"""Large changes: a stage counted and applied by the engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from dbt.adapters.vcs.changes.writes.stage import Stage
from dbt.adapters.vcs.changes.writes.targets import BlockChoice, RowTarget, tombstone_folder
from dbt.adapters.vcs.changes.writes.tombstone_ranges import write_tombstones
from dbt.adapters.vcs.core.model import Tombstone
from dbt.adapters.vcs.core.model.snapshot import FILE_COLUMN, POSITION_COLUMN
from dbt.adapters.vcs.core.store.blobs import Blobs
from dbt.adapters.vcs.engines.port import Destination, Rewriter, TableMount, told_rows
from dbt.adapters.vcs.sql.staging_sql import ACTION, MATCHED
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.table.equality import differs
from dbt.adapters.vcs.table.files.footers import WrittenFiles
from dbt.adapters.vcs.table.quoting import literal, quoted

_PLACE: Final = f"{FILE_COLUMN}, {POSITION_COLUMN}"


class _Counts(NamedTuple):
    """What a stage holds: rows affected and coming, and rows going by the path of their block."""

    affected: int
    coming: int
    going: dict[str, int]


class LargeChanges:
    """`Changes` of a stage of any size and types; each method runs a query."""

    def __init__(
        self, blobs: Blobs, session: Rewriter, stage: Stage, *, occurs_once: bool = False
    ) -> None:
        """Take a stage.

        Args:
            blobs: The repository's store.
            session: The engine.
            stage: The stage.
            occurs_once: True if it has no row of the table twice, as that of a merge may.
        """
        self._blobs = blobs
        self._session = session
        self._stage = stage
        self._occurs_once = occurs_once

    def affected(self) -> int:
        """Return how many rows are updated, deleted or inserted."""
        return self._counts.affected

    def repeated(self, places: Sequence[int], limit: int) -> list[tuple[Any, ...]]:
        """Return values of some rows that matched several times."""
        columns = ", ".join(f"first({self._stage.old[place]}) c{place}" for place in places)
        rows = self._session.query(
            f"select {columns} from {self._table} {where_clause(MATCHED)} "
            f"group by {_PLACE} having count(*) > 1 order by {_PLACE} limit {limit}"
        )
        return told_rows(rows)

    def inserted(self) -> int:
        """Return how many new rows are to be written, updated ones included."""
        return self._counts.coming

    def deletions(self) -> Mapping[str, int]:
        """Return how many rows each block loses, by its path."""
        return self._counts.going

    def write(
        self, target: RowTarget, choice: BlockChoice, folder: str
    ) -> tuple[WrittenFiles, tuple[Tombstone, ...]]:
        """Write the new blocks and the tombstones."""
        ids = [field.id for field in self._stage.table.fields]
        query = f"{self._renamed(self._stage.new, ids)} {where_clause(self._comes)}"
        if choice.rewritten:
            query = f"{self._kept(target, choice, ids)} union all {query}"
        written = self._session.write(
            query,
            Destination(
                folder=folder,
                partition_by=target.snapshot.partition_by,
                cluster_by=target.snapshot.cluster_by,
            ),
        )
        files = {path: written.footers.get(path) for path in written.files}
        return files, self._tombstones(choice, tombstone_folder(folder), ids)

    @cached_property
    def _table(self) -> str:
        """The stage, as a relation."""
        folder = self._stage.files[0].rpartition("/")[0] if self._stage.files else "none"
        # A stage without rows has no folder; its id then comes from its columns.
        told = folder if self._stage.files else repr(self._stage.fields)
        return self._session.mount_physical(
            TableMount(
                id="st_" + hashlib.sha256(told.encode()).hexdigest()[:32],
                folder=folder,
                files=self._stage.files,
                fields=self._stage.fields,
            )
        )

    @cached_property
    def _counts(self) -> _Counts:
        def going(condition: str) -> str:
            if self._occurs_once:
                return f"count_if({condition})"
            return f"count(distinct if({condition}, {POSITION_COLUMN}, null))"

        deleted = going(f"{ACTION} = 'delete'")
        found = self._session.query(
            f"select {FILE_COLUMN}, count_if({ACTION} in ('update', 'insert')), {deleted}, "
            f"count_if({self._comes}), {going(self._goes)} "
            f"from {self._table} group by {FILE_COLUMN}"
        ).fetch()
        return _Counts(
            affected=sum(others + deletes for _, others, deletes, _, _ in found),
            coming=sum(comes for _, _, _, comes, _ in found),
            going={file: goes for file, _, _, _, goes in found if goes},
        )

    @property
    def _comes(self) -> str:
        return f"({ACTION} = 'insert' or {self._changes})"

    @property
    def _goes(self) -> str:
        return f"({ACTION} = 'delete' or {self._changes})"

    @property
    def _changes(self) -> str:
        """SQL: the row is updated, and some value changes."""
        changed = " or ".join(
            differs(old, new, field.type) for old, new, field in self._stage.pairs
        )
        return f"({ACTION} = 'update' and ({changed or 'false'}))"

    def _renamed(self, names: Sequence[str], ids: Sequence[str]) -> str:
        columns = ", ".join(f"{name} as {quoted(id)}" for name, id in zip(names, ids, strict=True))
        return f"select {columns} from {self._table}"

    def _kept(self, target: RowTarget, choice: BlockChoice, ids: Sequence[str]) -> str:
        """Return the query for the remaining rows of the blocks that are rewritten."""
        located = self._session.mount_located(target.mount(choice.rewritten))
        return (
            f"select {', '.join(map(quoted, ids))} from {located} kept left anti join "
            f"(select {_PLACE} from {self._table} {where_clause(self._goes)}) gone "
            f"on kept.{POSITION_COLUMN} = gone.{POSITION_COLUMN} "
            f"and kept.{FILE_COLUMN} = gone.{FILE_COLUMN}"
        )

    def _tombstones(
        self, choice: BlockChoice, folder: str, ids: Sequence[str]
    ) -> tuple[Tombstone, ...]:
        image, once = ("{}", "") if self._occurs_once else ("first({})", f" group by {_PLACE}")
        images = ", ".join(
            f"{image.format(name)} as {quoted(id)}"
            for name, id in zip(self._stage.old, ids, strict=True)
        )
        holed = ", ".join(map(literal, sorted(choice.holed)))
        rows = (
            f"select {_PLACE}, {images} from {self._table} {where_clause(self._goes)} "
            f"and {FILE_COLUMN} in ({holed}){once}"
        )
        counts = {file: self._counts.going[file] for file in choice.holed}
        return write_tombstones(self._blobs, self._session, rows, counts, folder=folder)
