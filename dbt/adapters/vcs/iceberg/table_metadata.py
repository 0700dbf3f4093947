"""Tables and views as Iceberg's readers load them: metadata.json of a relation at a commit."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import msgspec

from dbt.adapters.vcs.core.errors import DamagedError, InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId, Micros, SnapshotId, ViewId
from dbt.adapters.vcs.core.model import (
    Field,
    RelationName,
    Schema,
    Snapshot,
    TableEntry,
    View,
    ViewEntry,
)
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.turns import attempts
from dbt.adapters.vcs.iceberg.data_manifests import digest_of
from dbt.adapters.vcs.iceberg.iceberg_types import (
    all_numbers,
    columns_schema,
    iceberg_schema,
    name_mapping,
    shown_key,
)
from dbt.adapters.vcs.iceberg.manifest_files import Spec, part_number
from dbt.adapters.vcs.iceberg.manifest_lists import ListedVersion, ManifestLists, number_of
from dbt.adapters.vcs.iceberg.metadata_files import (
    FOLDER,
    MetadataFile,
    MetadataPlace,
    PendingFiles,
    folder_of_table,
    put_metadata,
)
from dbt.adapters.vcs.iceberg.shown_history import (
    ShownVersion,
    kept_since,
    shown_entry,
    shown_since,
    shown_versions,
)

FORMAT_VERSIONS: Final = (2, 3)
"""The format versions of tables that can be written."""

FORMAT_VERSION: Final = "format-version"
"""The property of a table that says its format version, if that is one of them."""

# What an unpartitioned table has for the last number of a partition field.
_LAST_PARTITION: Final = 999


def table_metadata(
    repository: Repository,
    commit: CommitId,
    relation: RelationName,
    *,
    place: MetadataPlace,
    format_version: int = 2,
    names: Iterable[NamedCommit] = (),
) -> MetadataFile:
    """Return a table as a commit shows it, with the versions that the commits before showed.

    Manifests, delete files, the manifest lists and the file itself are in the store when this
    returns. Each is created only if it is absent, and the cost follows what changed since the
    last version that has any. Earlier versions are those of the commit's first parents, as far
    as their rows are kept, and as far as Iceberg can hold them beside this one.

    Args:
        place: Where to write, and how other engines reach the repository.
        format_version: Format version of the Iceberg table, unless its properties say another.
        names: Branches and tags to show as Iceberg's, where they show one of the versions.

    Raises:
        NotFoundError: The commit has nothing of the name.
        UnsupportedError: Iceberg can't hold the table; the message names the column.
        InputError: The relation is no table, or the format version is unknown.
    """
    files = PendingFiles(repository.blobs)
    for _ in attempts(f"describe {relation}"):
        metadata = describe_table(
            repository,
            commit,
            relation,
            place=place,
            format_version=format_version,
            names=names,
            files=files,
        )
        # It wasn't if another process had written other bytes, or a collection condemned a file.
        if files.store():
            break
    version = shown_entry(repository, commit, relation, TableEntry).snapshot
    table = repository.objects.snapshot(version).table
    kind = digest_of([place.root, metadata["format-version"]])
    folder = f"{folder_of_table(table)}/metadata/{kind}/{version}"
    return put_metadata(files, place, folder, metadata, version)


def describe_table(
    repository: Repository,
    commit: CommitId,
    relation: RelationName,
    *,
    place: MetadataPlace,
    files: PendingFiles,
    format_version: int = 2,
    names: Iterable[NamedCommit] = (),
) -> dict[str, Any]:
    """Return what `table_metadata` writes into metadata.json, and write no such file.

    What it names waits in `files`, and has to be stored before anything names it.
    """
    if format_version not in FORMAT_VERSIONS:
        known = " or ".join(map(str, FORMAT_VERSIONS))
        raise InputError(
            f"Found the format version {format_version} for an Iceberg table; expected {known}."
        )
    entry = shown_entry(repository, commit, relation, TableEntry)
    format_version = format_version_of(repository.objects.snapshot(entry.snapshot), format_version)
    lists = ManifestLists(repository, place, relation, format_version, files)
    history = _History(repository, lists, relation, commit)
    numbers = [number_of(item.shown.snapshot) for item in history.items]
    refs = metadata_refs(repository, relation, number_of(history.current), numbers, names)
    return _metadata(repository, place, relation, history, refs, format_version)


def format_version_of(snapshot: Snapshot, default: int) -> int:
    """Return the format version that a table's properties say, or the default."""
    told = snapshot.properties.get(FORMAT_VERSION)
    return next((version for version in FORMAT_VERSIONS if str(version) == told), default)


@dataclass(frozen=True, slots=True)
class _Item:
    shown: ShownVersion
    listed: ListedVersion
    snapshot: Snapshot
    times: list[Micros] = field(default_factory=list)


class _History:
    """The versions of a table that its metadata has, oldest first."""

    def __init__(
        self,
        repository: Repository,
        lists: ManifestLists,
        relation: RelationName,
        commit: CommitId,
    ) -> None:
        self._repository = repository
        since = kept_since(repository)
        shown = list(shown_versions(repository, commit, relation, since))[::-1]
        # The version that the commit shows.
        self.current = shown[-1].snapshot
        self.newest = repository.objects.snapshot(self.current)
        # What can't be shown at all is refused before anything is written.
        iceberg_schema(self.newest, 0)
        # Iceberg needs a schema for each version that it shows.
        first = self._first_supported(shown)
        items: dict[SnapshotId, _Item] = {}
        for one in shown[first:]:
            known = items.get(one.snapshot)
            if known is None:
                before = items.get(one.before) if one.before else None
                listed = lists.of(one, before.listed.path if before else "")
                stored = repository.objects.snapshot(one.snapshot)
                known = items[one.snapshot] = _Item(one, listed, stored)
            # Decision 21: a version that is shown again after a revert is one snapshot, twice in
            # the log.
            known.times.append(one.at)
        self.items = self._connected_items(list(items.values()))
        self.log = sorted(
            (at, number_of(item.shown.snapshot)) for item in self.items for at in item.times
        )

    def _first_supported(self, shown: Sequence[ShownVersion]) -> int:
        """Return from which version on Iceberg can hold all."""
        # From the newest on: the history that is shown has no gap.
        for place in range(len(shown) - 1, -1, -1):
            try:
                iceberg_schema(self._repository.objects.snapshot(shown[place].snapshot), 0)
            except UnsupportedError:
                return place + 1
        return 0

    def _connected_items(self, items: list[_Item]) -> list[_Item]:
        """Return the newest items whose lists were made from each other, current columns alone.

        A list that was made from another one of the version before says of what came earlier
        that it is new in another version: read together they would lose rows, or repeat them.
        """
        columns = {column.id for column in self.newest.schema.fields}
        wanted: dict[SnapshotId, str] = {}
        kept: list[_Item] = []
        for item in reversed(items):
            parts = {id for ids in item.listed.specs.values() for id in ids}
            path = wanted.get(item.shown.snapshot, item.listed.path)
            if kept and (path != item.listed.path or not parts <= columns):
                break
            kept.append(item)
            if item.shown.before is not None:
                wanted.setdefault(item.shown.before, item.listed.after)
        return kept[::-1]


def _metadata(
    repository: Repository,
    place: MetadataPlace,
    relation: RelationName,
    history: _History,
    refs: dict[str, Any],
    version: int,
) -> dict[str, Any]:
    snapshot = history.newest
    schemas = _Schemas()
    known = {item.shown.snapshot for item in history.items}
    snapshots = [_snapshot(place, item, schemas, known, version) for item in history.items]
    default, specs = _specs(history)
    parts = [part_number(id) for spec in specs for id in spec.ids]
    # Of the version and not of now: the same table has the same bytes.
    last = history.log[-1][0] // 1000
    rows = {"next-row-id": max(item.listed.next_row for item in history.items)}
    return {
        **(rows if version >= 3 else {}),
        "format-version": version,
        "table-uuid": table_uuid(repository, relation, snapshot),
        "location": place.uri(folder_of_table(snapshot.table)),
        # Decision 21: times of commits grow along every history, so they are the numbers.
        "last-sequence-number": max(item.shown.at for item in history.items),
        "last-updated-ms": last,
        # Decision 20: numbers are hashes, and this is only the largest one in use.
        "last-column-id": max(n for schema in schemas.all for n in all_numbers(schema)),
        "current-schema-id": schemas.number(snapshot),
        "schemas": schemas.all,
        "default-spec-id": default.number,
        "partition-specs": [{"spec-id": spec.number, "fields": spec.json} for spec in specs],
        "last-partition-id": max(parts, default=_LAST_PARTITION),
        # Specification: 0 is the order of tables that have none.
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": _properties(history, relation),
        "current-snapshot-id": number_of(history.current),
        "refs": refs,
        "snapshots": snapshots,
        "snapshot-log": [
            {"timestamp-ms": at // 1000, "snapshot-id": number} for at, number in history.log
        ],
        # A file is named for its content, and none comes before another.
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }


def _specs(history: _History) -> tuple[Spec, list[Spec]]:
    """Return how new files are partitioned, and all ways in which files are."""
    columns = {column.id: column for column in history.newest.schema.fields}
    used = {ids for item in history.items for ids in item.listed.specs.values()}
    default = tuple(sorted(history.newest.partition_by))
    all = [Spec(tuple(columns[id] for id in ids)) for ids in sorted({default, *used})]
    return next(spec for spec in all if spec.ids == default), all


def _properties(history: _History, relation: RelationName) -> dict[str, str]:
    snapshot = history.newest
    mapping = name_mapping([item.snapshot.schema for item in history.items])
    # The format version is a field of its own.
    own = {key: value for key, value in snapshot.properties.items() if key != FORMAT_VERSION}
    return {
        # Ours come last, and so count where the table has a property of the same name.
        **own,
        **({"comment": snapshot.comment} if snapshot.comment else {}),
        "schema.name-mapping.default": msgspec.json.encode(mapping).decode(),
        "write.format.default": "parquet",
        # Other engines must not delete files that other versions and branches need.
        "gc.enabled": "false",
        "vcs.relation": str(relation),
        "vcs.snapshot": history.current,
    }


def table_uuid(repository: Repository, relation: RelationName, snapshot: Snapshot) -> str:
    """Return a table's identity in Iceberg: a table dropped and created again is another one."""
    name = f"dbt-vcs:{repository.id}/{snapshot.table}/{relation}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


class _Schemas:
    """The different schemas of a table's versions, numbered from 0."""

    def __init__(self) -> None:
        self.all: list[dict[str, Any]] = []
        self._numbers: dict[tuple[Schema, tuple[str, ...]], int] = {}

    def number(self, snapshot: Snapshot) -> int:
        # What was dropped before doesn't show.
        key = Schema(fields=snapshot.schema.fields), shown_key(snapshot)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.all)
            self.all.append(iceberg_schema(snapshot, found))
        return found


def _snapshot(
    place: MetadataPlace, item: _Item, schemas: _Schemas, known: set[SnapshotId], version: int
) -> dict[str, Any]:
    summary = item.listed.summary | {"vcs.snapshot": item.shown.snapshot}
    if item.shown.commit is not None:
        summary["vcs.commit"] = item.shown.commit
    found = {
        "snapshot-id": number_of(item.shown.snapshot),
        "sequence-number": item.shown.at,
        "timestamp-ms": item.shown.at // 1000,
        "manifest-list": place.uri(item.listed.path),
        "summary": summary,
        "schema-id": schemas.number(item.snapshot),
    }
    # Specification, "Row Lineage": a snapshot says which numbers its new rows have.
    if version >= 3:
        found["first-row-id"] = item.listed.first_row
        found["added-rows"] = item.listed.next_row - item.listed.first_row
    if item.shown.before in known:
        found["parent-snapshot-id"] = number_of(item.shown.before)
    return found


MAIN = "main"
"""Iceberg's name for what a table shows; here that is what the commit shows, on any branch."""


class NamedCommit(NamedTuple):
    """A branch or a tag, and the commit that it names."""

    name: str
    kind: Literal["branch", "tag"]
    commit: CommitId


def named_commits(repository: Repository) -> list[NamedCommit]:
    """Return all branches and tags; a branch stands before the tag of its name."""
    branches = [NamedCommit(item.name, "branch", item.head) for item in repository.branches()]
    return branches + [NamedCommit(item.name, "tag", item.commit) for item in repository.tags()]


def metadata_refs(
    repository: Repository,
    relation: RelationName,
    current: int,
    numbers: Iterable[int],
    names: Iterable[NamedCommit],
) -> dict[str, Any]:
    """Return the refs of a table.

    A name whose tree is damaged is left out, so that it takes no other table along; `dbt-vcs fsck`
    tells of it.

    Args:
        current: The Iceberg snapshot that it shows.
        numbers: The Iceberg snapshots that its metadata has.
        names: Names to include if they show one of these.
    """
    known = set(numbers)
    # First, so that a branch called `main` doesn't hide what this commit shows.
    refs = {MAIN: {"snapshot-id": current, "type": "branch"}}
    for name, kind, commit in names:
        try:
            entry = repository.tree(commit).entry(relation)
        except DamagedError:
            continue
        if isinstance(entry, TableEntry) and number_of(entry.snapshot) in known:
            refs.setdefault(name, {"snapshot-id": number_of(entry.snapshot), "type": kind})
    return refs


DIALECT: Final = "spark"
"""The SQL that views are written in."""


def view_metadata(
    repository: Repository, commit: CommitId, relation: RelationName, *, place: MetadataPlace
) -> MetadataFile:
    """Return a view as a commit shows it; the file is in the store when this returns.

    Engines that know the dialect run the view's query, whose relations have their schemas.

    Raises:
        NotFoundError: The commit has nothing of the name.
        UnsupportedError: The view calls functions of the repository, or Iceberg has no type for
            one of its columns; the message names it.
        InputError: The relation is no view.
    """
    id = shown_entry(repository, commit, relation, ViewEntry).view
    view = repository.objects.view(id)
    if view.calls:
        raise UnsupportedError(
            f"The view {relation} calls {', '.join(view.calls)}, and other engines don't have the "
            "functions of a repository. Give them a table that is built from the view."
        )
    at = shown_since(repository, commit, relation, kept_since(repository)) // 1000
    folder = f"{FOLDER}/views/{id}"
    metadata = _view_metadata(repository, relation, view, id, at) | {"location": place.uri(folder)}
    return put_metadata(PendingFiles(repository.blobs), place, folder, metadata, id)


def view_uuid(repository: Repository, relation: RelationName) -> str:
    """Return the identity of a view, which is its name's."""
    name = f"dbt-vcs:{repository.id}/view/{relation}"
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _view_metadata(
    repository: Repository, relation: RelationName, view: View, id: ViewId, at: int
) -> dict[str, Any]:
    fields = (
        # Columns of a view have no ids, so their numbers are made from their names.
        Field(id=column.name, name=column.name, type=column.type, comment=column.comment)
        for column in view.columns
    )
    # 31 bits: the id of a view's version is Java's int.
    number = int(id[:8], 16) >> 1 or 1
    version = {
        "version-id": number,
        "schema-id": 0,
        "timestamp-ms": at,
        "summary": {"engine-name": "dbt-vcs", "vcs.view": id},
        "default-namespace": [relation.schema],
        "representations": [{"type": "sql", "sql": view.text, "dialect": DIALECT}],
    }
    return {
        "view-uuid": view_uuid(repository, relation),
        "format-version": 1,
        "current-version-id": number,
        "versions": [version],
        "version-log": [{"version-id": number, "timestamp-ms": at}],
        "schemas": [columns_schema(tuple(fields), 0)],
        "properties": {**view.properties, **({"comment": view.comment} if view.comment else {})},
    }
