"""Fitting: rewrite what a side added in files that the merged definition would misread.

A mode decides a conflict of definitions for one side. The other side's files may then hold a
column of another type, lack one whose value for such files is now another, or lie in folders of
another partitioning. The rows must stay as that side left them, so these files are written again:

| in files that only the losing side has             | result                                   |
|----------------------------------------------------|------------------------------------------|
| a value that the winning type has, too; NULL       | that value in the winning type           |
| a value that it lacks                              | a conflict that names row and column     |
| a column that is not in the file                   | written, with the value that side showed |
| folders of another partitioning                    | written to those that win                |
| images of rows that it deleted from others' files  | read from these, as the merge reads them |
| rows changed after dropping a column that is kept  | a conflict: they have no value for it    |

Only numbers are converted. Files that the base or the other side has, too, stay as they are: the
merged definition reads them as that side does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec

from dbt.adapters.vcs.changes.diffs.diff_query import files_mount, image_relations
from dbt.adapters.vcs.changes.merges.by_engine.engine_repair import EngineRepairs
from dbt.adapters.vcs.changes.writes.tombstone_ranges import tombstone_folder, write_tombstones
from dbt.adapters.vcs.core.errors import ConflictError, UnsupportedError
from dbt.adapters.vcs.core.ids import WriteId
from dbt.adapters.vcs.core.model import (
    Block,
    Field,
    Schema,
    Segment,
    SegmentRef,
    Snapshot,
    Tombstone,
)
from dbt.adapters.vcs.core.model.data_type import FLOATS, INTEGERS, type_of
from dbt.adapters.vcs.core.model.snapshot import PLACE, widens
from dbt.adapters.vcs.core.plan.compaction import carried_out
from dbt.adapters.vcs.core.plan.delta import Deletion, delta
from dbt.adapters.vcs.core.plan.schema_merge import Definition, Side
from dbt.adapters.vcs.core.plan.states import DeletionKey
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Destination, RowSession, told_rows
from dbt.adapters.vcs.sql.syntax.conditions import where_clause
from dbt.adapters.vcs.table.files.footers import WrittenFiles, read_blocks
from dbt.adapters.vcs.table.files.parquet import can_write
from dbt.adapters.vcs.table.manifests import put_segments
from dbt.adapters.vcs.table.python_values import shown
from dbt.adapters.vcs.table.quoting import quoted, sql_type

_SHOWN: Final = 5
_NUMBERS: Final = (*INTEGERS, *FLOATS, "decimal")


class MisfitError(ConflictError):
    """A side's rows don't fit the definition that the mode decided for.

    Attributes:
        what: Which rows and columns, as a clause.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(f"The rows don't fit the merged definition: {what}. Nothing was changed.")


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """Fits one side of a merge to the merged definition.

    Attributes:
        base: The version that both sides come from, if there is one.
        name: What errors call the side.
        engine: Provides the session that reads and writes rows.
    """

    repository: Repository
    base: Snapshot | None
    side: Snapshot
    other: Snapshot
    name: Side
    definition: Definition
    engine: EngineRepairs

    def fitted(self, write: WriteId, *, reads_only: bool = False) -> Snapshot:
        """Return the side with other files for the same rows; itself if its files can be read.

        Its own definition stays, though the new files are written by the merged one.

        Args:
            write: Names the folder of new files; no other write uses it.
            reads_only: True if its files are read, but don't become part of the result.

        Raises:
            MisfitError: Some rows can't be written by the merged definition.
            UnsupportedError: Only Spark can write them, and there is none.
        """
        if reads_only and not self._misread:
            return self.side
        if not reads_only:
            self._check_kept()
        strange = [block for part in self._own for block in part.blocks if self._is_strange(block)]
        gone = {block.path for block in strange}
        images = self._strange_images(gone)
        if not strange and not images:
            return self.side
        folder = f"data/{self.side.table}/w={write}"
        added = self._rewritten(strange, carried_out(self._tombstones, gone), folder)
        segments = self._edited(gone, images, added, self._with_images(images, folder))
        return msgspec.structs.replace(self.side, segments=segments)

    def _edited(
        self,
        gone: set[str],
        images: Sequence[Deletion],
        blocks: Sequence[Block],
        tombstones: Sequence[Tombstone],
    ) -> tuple[SegmentRef, ...]:
        """Return the side's segments without some blocks and deletions, and with others."""
        moved = {(item.path, item.block) for item in images}
        rest = [block for part in self._own for block in part.blocks if block.path not in gone]
        # What was compacted into a file that is written again is now in another one.
        compactions = [item for part in self._own for item in part.derivations]
        made = put_segments(
            self.repository.objects,
            [*rest, *blocks],
            [*_without(self._tombstones, gone, moved), *tombstones],
            [item for item in compactions if gone.isdisjoint(item.outputs)],
        )
        return (*(ref for ref in self.side.segments if ref.id in self._shared), *made)

    @property
    def _tombstones(self) -> list[Tombstone]:
        return [tombstone for part in self._own for tombstone in part.tombstones]

    @cached_property
    def _versions(self) -> list[Snapshot]:
        return [version for version in (self.base, self.other) if version is not None]

    @cached_property
    def _shared(self) -> set[str]:
        """Ids of segments that the base or the other side has."""
        return {ref.id for version in self._versions for ref in version.segments}

    @cached_property
    def _own(self) -> list[Segment]:
        new = [ref.id for ref in self.side.segments if ref.id not in self._shared]
        return self.repository.objects.segments(new)

    @cached_property
    def _others(self) -> tuple[set[str], set[tuple[str, str]]]:
        """Blocks and deletions of the base and the other side, but for shared segments."""
        mine = {ref.id for ref in self.side.segments}
        ids = {ref.id for version in self._versions for ref in version.segments} - mine
        parts = self.repository.objects.segments(ids)
        deletions = {
            (s.path, path) for part in parts for s in part.tombstones for path in s.targets
        }
        return {block.path for part in parts for block in part.blocks}, deletions

    @cached_property
    def _misread(self) -> list[tuple[Field, Field]]:
        """Columns of which the merged definition reads other values than the side's own."""
        found = []
        for new in self.definition.schema.fields:
            own = self.side.schema.by_id(new.id)
            # Files without the column show its initial value.
            if own and (own.initial != new.initial or not widens(own.type, new.type)):
                found.append((own, new))
        return found

    @cached_property
    def _shown_through(self) -> bool:
        """Whether files may hold a column that the side added and dropped again, and is kept."""
        old = self.base.schema if self.base else Schema(fields=())
        return any(old.by_id(field.id) is None for field in self._dropped)

    @cached_property
    def _dropped(self) -> list[Field]:
        """Columns of the merged definition that the side has dropped."""
        retired = self.side.schema.retired
        return [field for field in self.definition.schema.fields if field.id in retired]

    @cached_property
    def _fields(self) -> list[tuple[Field, Field]]:
        """The columns to rewrite: as the side has them, and as they are written."""
        found = []
        for new in self.definition.schema.fields:
            own = self.side.schema.by_id(new.id)
            # Files are laid out by the partition columns, so one that the side lacks is written,
            # too.
            if own or new.id in self.definition.partition_by:
                found.append((own or new, new))
        return found

    def _is_strange(self, block: Block) -> bool:
        is_moved = set(block.partition) != set(self.definition.partition_by)
        is_strange = bool(self._misread) or self._shown_through or is_moved
        return is_strange and block.path not in self._others[0]

    def _strange_images(self, gone: set[str]) -> list[Deletion]:
        """Return the side's own deletions from blocks that stay, if their images are misread."""
        return [
            Deletion(tombstone.path, path, rows, tombstone)
            for tombstone in (self._tombstones if self._misread else ())
            for path, rows in tombstone.targets.items()
            if path not in gone and (tombstone.path, path) not in self._others[1]
        ]

    def _check_kept(self) -> None:
        """Check that no row lacks a value because its column was dropped when it was written."""
        old = self.base.schema if self.base else Schema(fields=())
        kept = [field.name for field in self._dropped if old.by_id(field.id)]
        if not kept:
            return
        # Moves as well: a compaction after the drop has also written rows without the column.
        change = delta(self.base, self.side, self.repository.objects.segments, with_moves=True)
        # Rows that were only added never had a value for the column.
        if change.added and (change.removed or change.deleted):
            raise MisfitError(
                f"{self.name} dropped {', '.join(kept)} and then wrote rows of the base again, "
                "which have no value for it any more; drop it on both sides, or on none"
            )

    def _rewritten(
        self, blocks: Sequence[Block], tombstones: Sequence[Tombstone], folder: str
    ) -> tuple[Block, ...]:
        if not blocks:
            return ()
        files = self._written(blocks, tombstones, folder)
        definition, blobs = self.definition, self.repository.blobs
        return read_blocks(blobs, files, definition.schema, definition.partition_by, files)

    @cached_property
    def _session(self) -> RowSession:
        definition = self.definition
        if can_write(definition.schema, definition.partition_by):
            return self.engine.session(definition.schema.fields)
        if self.engine.sessions is None:
            raise UnsupportedError(
                "The rows of one side have to be written again, and only Spark can write a type "
                "of the table, or names its partitions. Use a connection that has Spark."
            )
        return self.engine.sessions()

    def _written(
        self, blocks: Sequence[Block], tombstones: Sequence[Tombstone], folder: str
    ) -> WrittenFiles:
        session, ids = self._session, [own.id for own, _ in self._fields]
        paths = [block.path for block in blocks]
        mount = files_mount(paths, [own for own, _ in self._fields], tombstones, blocks)
        relation = session.mount_physical(mount)
        for own, new in self._fields:
            # Before the write, in which a value that doesn't fit becomes NULL.
            if not widens(own.type, new.type):
                self._check_fits(relation, own, new)
        columns = ", ".join(_cast_sql(own, new) for own, new in self._fields)
        written = session.write(
            f"select {columns} from {relation}",
            Destination(
                folder=folder,
                partition_by=self.definition.partition_by,
                # The other side may have added a clustering column, which these rows lack.
                cluster_by=[id for id in self.definition.cluster_by if id in ids],
            ),
        )
        return {path: written.footers.get(path) for path in written.files}

    def _check_fits(self, relation: str, own: Field, new: Field) -> None:
        """Check that the winning type has all values of a column."""
        session, column = self._session, quoted(own.id)
        misfits = f"{column} is not null"
        # Only numbers are converted: a text never becomes the number that it shows. A number fits
        # if it comes back the same.
        if _are_numbers(own, new):
            fits = f"{_cast_sql(own, new, named=False)} as {sql_type(own.type)}"
            fits = f"try_cast({fits}) <=> {column}"
            misfits = f"{misfits} and not ({fits})"
        where = where_clause(misfits)
        [[count]] = session.query(f"select count(*) from {relation} {where}").fetch()
        if not count:
            return
        fields = [field for field, _ in self._fields]
        # A row is shown by its key, or by all columns without one.
        telling = [field for field in fields if field.id in self.side.primary_key] or fields
        telling = [field for field in telling if field != own]
        names = ", ".join(quoted(field.id) for field in (*telling, own))
        found = session.query(f"select {names} from {relation} {where} limit {_SHOWN}")
        rows = told_rows(found)
        listed = "; ".join(
            f"{own.name} = {shown(value)} where "
            + ", ".join(f"{f.name} = {shown(v)}" for f, v in zip(telling, values, strict=True))
            for *values, value in rows
        )
        more = f"; and {count - len(rows)} more" if count > len(rows) else ""
        raise MisfitError(
            f"{self.name} has values of the column {own.name} ({own.type}) that are no "
            f"{new.type}, its type on the side that the mode prefers: {listed}{more}; change "
            "these rows or the column on one side"
        )

    def _with_images(self, images: Sequence[Deletion], folder: str) -> tuple[Tombstone, ...]:
        """Write tombstones again, with images as the merged definition reads the rows."""
        if not images:
            return ()
        infos = entries_of_blocks(self.repository, self.side, {item.block for item in images})
        session, fields = self._session, self.definition.schema.fields
        # An image has the values as the side's definition had them, so the rows are read from
        # their own blocks.
        rows = session.mount_located(files_mount(infos, fields, entries=infos.values()))
        places = " union all ".join(
            f"select {PLACE} from {relation} {where_clause(wanted)}"
            for relation, wanted in image_relations(session, images, ())
        )
        listed = ", ".join(quoted(field.id) for field in fields)
        query = f"select {PLACE}, {listed} from {rows} left semi join ({places}) using ({PLACE})"
        counts: dict[str, int] = {}
        for item in images:
            counts[item.block] = counts.get(item.block, 0) + item.rows
        target = tombstone_folder(folder)
        return write_tombstones(self.repository.blobs, session, query, counts, folder=target)


def _without(
    tombstones: Sequence[Tombstone], blocks: set[str], deletions: set[DeletionKey]
) -> Iterator[Tombstone]:
    """Yield tombstones without some deletions, and without those from some blocks."""
    for tombstone in tombstones:
        pairs = tombstone.targets.items()
        targets = {
            path: rows
            for path, rows in pairs
            if path not in blocks and (tombstone.path, path) not in deletions
        }
        # Decision 9: a tombstone that targets no block leaves the manifest, and its file stays.
        if targets:
            yield msgspec.structs.replace(tombstone, targets=targets)


def _are_numbers(own: Field, new: Field) -> bool:
    return {type_of(own.type).kind, type_of(new.type).kind} <= set(_NUMBERS)


def _cast_sql(own: Field, new: Field, *, named: bool = True) -> str:
    """Return SQL of a column in its new type; NULL for what this type lacks."""
    column = quoted(own.id)
    if type_of(own.type) == type_of(new.type):
        return column
    if widens(own.type, new.type):
        # Nothing checks these values, so that none may become NULL.
        cast = f"cast({column} as {sql_type(new.type)})"
    else:
        value = column if _are_numbers(own, new) else "null"
        cast = f"try_cast({value} as {sql_type(new.type)})"
    return f"{cast} {column}" if named else cast


def entries_of_blocks(
    repository: Repository, version: Snapshot, paths: Iterable[str]
) -> dict[str, Block]:
    """Return the entries of some blocks of a version."""
    wanted = set(paths)
    found: dict[str, Block] = {}
    # Segments are appended, and the blocks asked for are mostly recent ones.
    for ref in reversed(version.segments):
        if len(found) == len(wanted):
            break
        for block in repository.objects.segment(ref.id).blocks:
            if block.path in wanted:
                found[block.path] = block
    return found
