"""Manifest lists: what a version of a table consists of, and what it changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.core.errors import NotFoundError
from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.model import (
    Block,
    RelationName,
    Segment,
    SegmentRef,
    Snapshot,
    Tombstone,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.objects import BoundedCache
from dbt.adapters.vcs.iceberg.avro_files import AvroFile, Record, open_avro
from dbt.adapters.vcs.iceberg.data_manifests import (
    TableFiles,
    data_manifests,
    digest_of,
    first_rows,
    removed_manifests,
    stamped,
)
from dbt.adapters.vcs.iceberg.delete_manifests import Blocks, delete_manifests, vector_manifests
from dbt.adapters.vcs.iceberg.manifest_files import DATA, DELETES, json_text, list_bytes, read_list
from dbt.adapters.vcs.iceberg.metadata_files import MetadataPlace, PendingFiles, folder_of_table
from dbt.adapters.vcs.iceberg.shown_history import ShownVersion

TYPES: Final = "dbt-vcs.types"
SPECS: Final = "dbt-vcs.specs"
SUMMARY: Final = "dbt-vcs.summary"
ROWS: Final = "dbt-vcs.rows"
AFTER: Final = "dbt-vcs.after"
"""What a list was made from: the list of the version before."""


@dataclass(frozen=True)
class ListedVersion:
    """A version's manifest list.

    Most are read only for what their header says, so the manifests are decoded where needed.

    Attributes:
        path: Relative to the repository.
        data: The file.
    """

    path: str
    data: bytes

    @classmethod
    def of_facts(cls, path: str, data: bytes, facts: Mapping[str, str]) -> ListedVersion:
        """Return a list whose header was just made, and needs no reading."""
        found = cls(path, data)
        # Where `cached_property` looks. The class is frozen, so the attribute can't be set.
        found.__dict__["facts"] = dict(facts)
        return found

    @cached_property
    def facts(self) -> dict[str, str]:
        """What its header says."""
        return {key: value.decode() for key, value in self._file.meta.items()}

    @cached_property
    def manifests(self) -> list[Record]:
        """What it lists."""
        return read_list(self._file)

    @cached_property
    def _file(self) -> AvroFile:
        return open_avro(self.data)

    @property
    def after(self) -> str:
        """Path of the list that it was made from; empty for none."""
        return self.facts.get(AFTER, "")

    @property
    def summary(self) -> dict[str, str]:
        """What the version changed, in Iceberg's words."""
        found: dict[str, str] = msgspec.json.decode(self.facts[SUMMARY])
        return found

    @property
    def first_row(self) -> int:
        """The number of its first new row, in format version 3."""
        return int(msgspec.json.decode(self.facts[ROWS])[0])

    @property
    def next_row(self) -> int:
        """The number of the first row of the version after it, in format version 3."""
        return int(msgspec.json.decode(self.facts[ROWS])[1])

    @cached_property
    def specs(self) -> dict[int, tuple[str, ...]]:
        """The columns of each partition spec, by its number."""
        stored = msgspec.json.decode(self.facts[SPECS])
        return {int(number): tuple(ids) for number, ids in stored.items()}

    @cached_property
    def types(self) -> dict[str, str]:
        """The types of the version's columns by field id."""
        found: dict[str, str] = msgspec.json.decode(self.facts[TYPES])
        return found

    def by_segment(self) -> dict[str, list[Record]]:
        """Return the manifests of each segment; those of removed blocks are left out."""
        found: dict[str, list[Record]] = {}
        for manifest in self.manifests:
            # `data_manifests` and `delete_manifests` begin a name with the segment's id.
            name = str(manifest["manifest_path"]).rpartition("/")[2]
            found.setdefault(name.partition("-")[0], []).append(manifest)
        # These belong to no segment: one says what a version lost, the other is made for a whole
        # version.
        for others in ("removed", "vectors"):
            found.pop(others, None)
        return found


_KNOWN: Final = 64 * 2**20
"""Bytes of lists that are kept, decoded."""

# How many times its stored size a list takes in memory at most: its entries are compressed.
_DECODED: Final = 16

# Stands for the commit where that is not known.
_ALONE: Final = "0" * 40


def number_of(version: SnapshotId) -> int:
    """Return the Iceberg snapshot that a version is."""
    # 63 bits: ids are Java's long, and -1 stands for no snapshot. Decision 21: no counter.
    return int(version[:16], 16) >> 1 or 1


class ManifestLists:
    """The manifest lists of one relation; each is written once, after that of the version before.

    What the version before shares is copied from its list, so the cost follows the change.
    """

    def __init__(
        self,
        repository: Repository,
        place: MetadataPlace,
        relation: RelationName,
        version: int,
        files: PendingFiles,
    ) -> None:
        self._repository = repository
        self._files = files
        self._known: BoundedCache[str, ListedVersion] = BoundedCache(_KNOWN, keeps_last=True)
        self._place = place
        self._version = version
        # Lists name files by their URI, so another root, like another format version, has other
        # lists.
        self._kind = digest_of([place.root, version])
        self._relation = digest_of([str(relation)])

    def of(self, shown: ShownVersion, base: str = "") -> ListedVersion:
        """Return the list of a version in a history, written if there is none.

        Args:
            base: Path of the list of the version before; by default any of its lists.
        """
        found = self._find(self._path(shown))
        # It is older than the retention, so no commit says which of its lists is meant.
        if found is None and shown.commit is None:
            found = self._any_list(shown.snapshot)
        return found or self._make_list(shown, base)

    def _path(self, shown: ShownVersion) -> str:
        commit = shown.commit or _ALONE
        path = f"{self._prefix(shown.snapshot)}{commit[:40]}-{self._relation}.avro"
        return self._files.condemned.free(path)

    def _prefix(self, version: SnapshotId) -> str:
        table = self._repository.objects.snapshot(version).table
        return f"{folder_of_table(table)}/lists/{self._kind}/{version}-"

    def _find(self, path: str) -> ListedVersion | None:
        found = self._known.get(path)
        if found is None:
            try:
                data = self._files.get(path)
            except NotFoundError:
                return None
            found = self._keep(ListedVersion(path, data))
        return found

    def _keep(self, listed: ListedVersion) -> ListedVersion:
        self._known.put(listed.path, listed, _DECODED * len(listed.data))
        return listed

    def _any_list(self, version: SnapshotId) -> ListedVersion | None:
        """Return any list of a version: all list the same files."""
        path = self._files.any_list(self._prefix(version))
        return None if path is None else self._find(path)

    def _make_list(self, shown: ShownVersion, base: str) -> ListedVersion:
        before = self._find(base) if base else None
        if before is None and shown.before is not None:
            before = self._any_list(shown.before)
        snapshot = self._repository.objects.snapshot(shown.snapshot)
        files = TableFiles(self._files, self._place, snapshot, self._version)
        making = _Making(self._repository, files, shown, before, snapshot)
        manifests, facts = making.manifests, making.facts()
        data = list_bytes(manifests, facts, self._version)
        path = self._path(shown)
        made = self._keep(ListedVersion.of_facts(path, data, facts))
        self._files.add_list(made.path, data)
        return made


class _Making:
    def __init__(
        self,
        repository: Repository,
        files: TableFiles,
        shown: ShownVersion,
        base: ListedVersion | None,
        snapshot: Snapshot,
    ) -> None:
        self._objects = repository.objects
        self._shown = shown
        self._base = base
        self._snapshot = snapshot
        self._before = (
            None if shown.before is None or base is None else self._objects.snapshot(shown.before)
        )
        self._files = files
        self._number = number_of(shown.snapshot)
        self._version = files.version
        self._next_row = 0
        self._added = 0
        self._removed = 0
        self._new_deletes = 0
        self._rows: Mapping[str, int] = {}

    @cached_property
    def manifests(self) -> list[Record]:
        """What the version lists: data first, in the order of the table's rows."""
        # A stable sort: data manifests stay in the order in which rows are numbered.
        found = sorted(self._all_manifests(), key=lambda manifest: int(manifest["content"]))
        return self._with_row_numbers(found)

    def _all_manifests(self) -> Iterator[Record]:
        shared = self._shared_manifests()
        gone = self._removed_blocks()
        self._rows = self._first_rows(shared)
        kept: set[str] = set()
        for ref in self._snapshot.segments:
            if ref.id in shared:
                yield from shared[ref.id]
                continue
            segment = self._objects.segment(ref.id)
            # Decision 21: blocks that only moved to another segment are existing, not added.
            old = gone.keys() & {block.path for block in segment.blocks}
            kept |= old
            yield from self._new_manifests(ref, segment, old)
        # Version 3 forbids new position delete files.
        if self._version >= 3:
            yield from self._vectors()
        removed = [block for path, block in gone.items() if path not in kept]
        self._removed = len(removed)
        # For readers of changes; those of rows pass over entries that are deleted.
        for manifest in removed_manifests(self._files, removed, self._number, self._rows):
            yield stamped(manifest, self._number, self._shown.at)

    def _shared_manifests(self) -> dict[str, list[Record]]:
        """Return the manifests of the version before that mean the same here, by segment."""
        # Bounds are written as their column's type, so another type means other manifests.
        if self._base is None or self._before is None or not self._has_same_types:
            return {}
        old = {ref.id for ref in self._before.segments}
        base = self._base
        # A segment that only has derivations lists nothing.
        listed: dict[str, list[Record]] = {id: [] for id in old} | base.by_segment()
        return {
            ref.id: listed[ref.id]
            for ref in self._snapshot.segments
            if ref.id in old and self._hold(listed[ref.id])
        }

    def _hold(self, manifests: Sequence[Record]) -> bool:
        """Return whether manifests of the version before can be listed as they are."""
        specs = {} if self._base is None else self._base.specs
        columns = self._files.fields.keys()
        return all(
            # No schema has a dropped column, so no spec may name it. Condemned files may vanish.
            columns >= set(specs[item["partition_spec_id"]]) and self._files.is_free(item)
            for item in manifests
        )

    @property
    def _has_same_types(self) -> bool:
        types = {} if self._base is None else self._base.types
        fields = self._files.fields
        return all(types.get(id, field.type) == field.type for id, field in fields.items())

    def _removed_blocks(self) -> dict[str, Block]:
        if self._before is None:
            return {}
        own = {ref.id for ref in self._snapshot.segments}
        refs = [ref for ref in self._before.segments if ref.id not in own]
        segments = self._objects.segments(ref.id for ref in refs)
        return {block.path: block for segment in segments for block in segment.blocks}

    def _first_rows(self, shared: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the numbers of the first rows of blocks that may change their manifests."""
        # Decision 21: a block that changes its manifest keeps the numbers of its rows.
        if self._version < 3 or self._base is None:
            return {}
        listed = self._base.by_segment()
        found = [item for id, items in listed.items() if id not in shared for item in items]
        return first_rows(self._files, (item for item in found if item["content"] == DATA))

    def _new_manifests(self, ref: SegmentRef, segment: Segment, old: set[str]) -> Iterator[Record]:
        is_known = self._before is not None and ref.id in {r.id for r in self._before.segments}
        if is_known:
            # It was there, and its manifests mean something else now.
            old = {block.path for block in segment.blocks}
        before = None
        if old and self._shown.before is not None:
            before = number_of(self._shown.before)
        found = data_manifests(
            self._files, ref.id, segment.blocks, kept=old, before=before, rows=self._rows
        )
        self._added += len(segment.blocks) - len(old)
        self._new_deletes += 0 if is_known else ref.deleted
        # Version 3 has one vector for each file, whichever segments delete from it: see
        # `_vectors`.
        if segment.tombstones and self._version < 3:
            find = self._finder(segment)
            found += delete_manifests(self._files, ref.id, segment.tombstones, find)
        for manifest in found:
            yield stamped(manifest, self._number, self._shown.at)

    def _vectors(self) -> Iterator[Record]:
        """Yield the manifests of all deletions: a file has one vector, not one a tombstone."""
        tombstones = self._tombstones(self._snapshot)
        if not tombstones:
            return
        before: Sequence[Tombstone] = ()
        base: list[Record] = []
        # Decision 21: vectors stay where they are, or clients that delete from different files
        # would be in each other's way.
        if self._base is not None and self._before is not None and self._has_same_types:
            before = self._tombstones(self._before)
            base = [item for item in self._base.manifests if item["content"] == DELETES]
            base = base if self._hold(base) else []
        find = self._finder(Segment())
        known = {item["manifest_path"] for item in base}
        for manifest in vector_manifests(self._files, tombstones, find, before, base):
            is_old = manifest["manifest_path"] in known
            yield manifest if is_old else stamped(manifest, self._number, self._shown.at)

    def _finder(self, segment: Segment) -> Blocks:
        """Return what finds blocks by path, in the segment first."""
        found = {block.path: block for block in segment.blocks}

        def find(paths: Iterable[str]) -> Mapping[str, Block]:
            wanted = set(paths)
            for ref in self._snapshot.segments:
                if wanted <= found.keys():
                    break
                blocks = self._objects.segment(ref.id).blocks
                found.update((block.path, block) for block in blocks)
            return {path: found[path] for path in wanted}

        return find

    def _tombstones(self, version: Snapshot) -> list[Tombstone]:
        segments = self._objects.segments(ref.id for ref in version.segments if ref.deleted)
        return [tombstone for segment in segments for tombstone in segment.tombstones]

    def _with_row_numbers(self, manifests: list[Record]) -> list[Record]:
        if self._version < 3:
            return manifests
        row, found = self.first_row, []
        for manifest in manifests:
            # Specification, "First Row ID Assignment": by the rows of all entries, old and new.
            if manifest["content"] == DATA and manifest.get("first_row_id") is None:
                manifest = {**manifest, "first_row_id": row}
                row += manifest["added_rows_count"] + manifest["existing_rows_count"]
            found.append(manifest)
        self._next_row = row
        return found

    @property
    def first_row(self) -> int:
        return 0 if self._base is None else self._base.next_row

    def facts(self) -> dict[str, str]:
        """Return what the list's header says; called after `manifests`."""
        specs = {spec.number: spec.ids for spec in self._files.specs}
        if self._base is not None:
            used = {manifest["partition_spec_id"] for manifest in self.manifests}
            # Manifests that were taken over keep their specs, so the metadata has to declare
            # these.
            specs |= {n: ids for n, ids in self._base.specs.items() if n in used}
        types = {id: field.type for id, field in self._files.fields.items()}
        return {
            "snapshot-id": str(self._number),
            "sequence-number": str(self._shown.at),
            AFTER: "" if self._base is None else self._base.path,
            TYPES: json_text(types),
            SPECS: json_text(specs),
            SUMMARY: json_text(self._summary()),
            ROWS: json_text([self.first_row, self._next_row]),
        }

    def _summary(self) -> dict[str, str]:
        now, before = self._snapshot, self._before
        deletes = [m for m in self.manifests if m["content"] == DELETES]
        found = {
            "operation": self._operation(),
            "added-data-files": self._added,
            "deleted-data-files": self._removed,
            "total-data-files": now.block_count,
            "total-records": sum(ref.rows for ref in now.segments),
            "total-files-size": now.bytes,
            "total-delete-files": sum(
                m["added_files_count"] + m["existing_files_count"] for m in deletes
            ),
            "total-position-deletes": sum(ref.deleted for ref in now.segments),
            # They become positions when they land (decision 23).
            "total-equality-deletes": 0,
            # Ours may be more precise than the four words that Iceberg has.
            "vcs.operation": now.operation,
            "vcs.rows-before": None if before is None else before.rows,
        }
        return {key: str(value) for key, value in found.items() if value is not None}

    def _operation(self) -> str:
        """Return Iceberg's word for what happened; readers of new rows only skip all but `append`.

        A compaction changes no rows. What only adds files, and deletes nothing, is an append.
        """
        deleted = sum(ref.deleted for ref in self._snapshot.segments)
        before = 0 if self._before is None else sum(ref.deleted for ref in self._before.segments)
        if self._snapshot.operation == _COMPACTION and self._before is not None:
            # Specification: `replace` changes no rows.
            return "replace" if self._snapshot.rows == self._before.rows else "overwrite"
        if not self._removed and not self._new_deletes and deleted == before:
            return "append"
        # A version of an update adds files, or no row would have the new values.
        if not self._added and (self._removed or self._new_deletes):
            return "delete"
        return "overwrite"


_COMPACTION: Final = "optimize"
