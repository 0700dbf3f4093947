"""Table definitions: tables that a commit creates, and what it changes besides rows."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.changes.writes.versions import changed
from dbt.adapters.vcs.core.ids import TableId, field_number
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.core.model.snapshot import IDENTIFIERS
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.serve.rest_protocol import bad_request
from dbt.adapters.vcs.iceberg.serve.writing.branch_writer import (
    COMMENT,
    BranchWriter,
    require_schema,
)
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import (
    CommitRequest,
    Record,
    removals_of,
    target,
    texts_of,
)
from dbt.adapters.vcs.iceberg.serve.writing.iceberg_columns import (
    IcebergColumns,
    check_unsorted,
    column_updates,
    in_order,
    partition_names,
    read_columns,
    spec_fields,
)
from dbt.adapters.vcs.iceberg.table_metadata import FORMAT_VERSION, FORMAT_VERSIONS, MAIN
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.properties import SetProperties, UnsetProperties
from dbt.adapters.vcs.workspace.overlay import Overlay

UPGRADE: Final = "upgrade-format-version"
_LOCATION: Final = re.compile(r".*/tables/([0-9a-f]{32})/?")

_REFUSED: Final = {
    "remove-snapshots": "The history of tables is the repository's: `dbt-vcs gc` removes what "
    "is older than the retention",
    "set-statistics": "The catalog keeps no statistics files",
    "remove-statistics": "The catalog keeps no statistics files",
    "set-partition-statistics": "The catalog keeps no statistics files",
    "remove-partition-statistics": "The catalog keeps no statistics files",
    "remove-partition-specs": "The catalog finds itself which partition specs are in use",
    "remove-schemas": "The catalog finds itself which schemas are in use",
    "add-encryption-key": "Tables of a repository aren't encrypted by clients",
    "remove-encryption-key": "Tables of a repository aren't encrypted by clients",
}
_KNOWN: Final = {
    "assign-uuid",
    UPGRADE,
    "add-schema",
    "set-current-schema",
    "add-spec",
    "set-default-spec",
    "add-sort-order",
    "set-default-sort-order",
    "set-location",
    "set-properties",
    "remove-properties",
    "add-snapshot",
    "set-snapshot-ref",
    "remove-snapshot-ref",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """A table to create.

    Attributes:
        partition_by: Names of the columns that it is partitioned by.
        properties: As the client gave them.
        table: Its identity, if that was handed out before; else None.
        replaces: True to take the place of the table that has the name.
    """

    relation: RelationName
    columns: IcebergColumns
    partition_by: tuple[str, ...]
    properties: Mapping[str, str]
    table: TableId | None = None
    replaces: bool = False


def new_table(relation: RelationName, body: Record) -> NewTable:
    """Return the table that a request of `createTable` describes.

    Raises:
        RestError: A repository has no such tables; the message says why.
    """
    columns = read_columns(body.get("schema"))
    spec, order = body.get("partition-spec"), body.get("write-order")
    if order is not None:
        check_unsorted(order)
    return NewTable(
        relation=relation,
        columns=columns,
        partition_by=() if spec is None else partition_names(spec, columns),
        properties=texts_of(body, "properties"),
    )


def create(writer: BranchWriter, overlay: Overlay, new: NewTable) -> None:
    """Create a table in an overlay.

    Raises:
        RestError: The namespace isn't there, or a property can't be honoured.
        InputError: The name is taken, or the table can't be as declared.
    """
    require_schema(overlay, new.relation.schema)
    stored = to_store(new.properties, {}, writer.format_version)
    # Spark has partition columns last; `in_order` puts them back.
    first = [c.declared for c in new.columns.columns if c.name not in new.partition_by]
    last = {c.name: c.declared for c in new.columns.columns}
    statement = CreateTable(
        target=target(new.relation),
        columns=(*first, *(last[name] for name in new.partition_by)),
        partition_by=new.partition_by,
        primary_key=new.columns.key,
        comment=stored.pop(COMMENT, None),
        # Who names identifier fields wants to see them.
        properties={**({IDENTIFIERS: "true"} if new.columns.key else {}), **stored},
        replace=new.replaces,
    )
    writer.execute(overlay, statement)
    made = overlay.require_table(new.relation)
    schema = in_order(made.schema, new.columns)
    table = new.table or made.table
    if (schema, table) != (made.schema, made.table):
        overlay.put_table(new.relation, msgspec.structs.replace(made, schema=schema, table=table))


def check_updates(request: CommitRequest, metadata: Record | None) -> None:
    """Check that a commit has no update that the catalog can't carry out.

    Raises:
        RestError: It has one; the message says what to do instead.
    """
    for item in request.updates:
        action = item["action"]
        if action in _REFUSED:
            raise bad_request(f"{action} is refused: {_REFUSED[action]}.")
        if action not in _KNOWN:
            raise bad_request(f"The catalog knows no update {action!r} of a table.")
        if action == "add-sort-order":
            check_unsorted(item.get("sort-order"))
        elif action == "remove-snapshot-ref" and item.get("ref-name") != MAIN:
            raise bad_request(
                f"The ref {item.get('ref-name')!r} stays: branches and tags are the repository's. "
                "Use dbt-vcs branch and dbt-vcs tag."
            )
        elif metadata is not None:
            _check_same(item, metadata)


def _check_same(item: Record, metadata: Record) -> None:
    if item["action"] == "set-location" and item.get("location") != metadata["location"]:
        raise bad_request(
            f"The location of a table is the repository's, {metadata['location']}, and can't be "
            f"{item.get('location')!r}."
        )
    if item["action"] == "assign-uuid" and item.get("uuid") != metadata["table-uuid"]:
        raise bad_request("The uuid of a table can't be changed.")


def staged_id(
    repository: Repository, branch: str, relation: RelationName, chance: str | None = None
) -> TableId:
    """Return a new identity for a table that a client is to create under a name of a branch.

    A client gives it back with its commit, and any of a repository's servers may get that. So the
    identity is made from the branch and the name: nobody can take that of a table elsewhere.

    Args:
        chance: 12 hexadecimal digits, by which two tables of one name differ; None for new ones.
    """
    chance = chance or secrets.token_hex(6)
    text = f"{repository.id}\0{branch}\0{relation.schema}\0{relation.identifier}\0{chance}"
    return TableId(chance + hashlib.sha256(text.encode()).hexdigest()[:20])


def created_by(
    repository: Repository, branch: str, relation: RelationName, request: CommitRequest
) -> NewTable:
    """Return the table that a commit with `assert-create` describes.

    Raises:
        RestError: The commit has no columns, or a location that the catalog didn't hand out.
    """
    schemas, specs = request.of_action("add-schema"), request.of_action("add-spec")
    if not schemas:
        raise bad_request(f"The commit creates {relation} without columns.")
    columns = read_columns(schemas[-1].get("schema"))
    location = [str(item.get("location")) for item in request.of_action("set-location")]
    found = _LOCATION.fullmatch(location[-1]) if location else None
    table = TableId(found[1]) if found else None
    if location and (
        # Computed again, since no server remembers what it handed out.
        table is None or table != staged_id(repository, branch, relation, table[:12])
    ):
        raise bad_request(
            f"{location[-1]!r} is not a location that the catalog handed out for {relation} on "
            f"{branch}. Ask for the table with stage-create first, or create it without a "
            "location."
        )
    properties: dict[str, str] = {}
    for item in request.of_action("set-properties", UPGRADE):
        properties |= properties_given(item)
    return NewTable(
        relation=relation,
        columns=columns,
        partition_by=partition_names(specs[-1].get("spec"), columns) if specs else (),
        properties=without_paths(properties),
        table=table,
    )


def properties_given(item: Record) -> dict[str, str]:
    """Return the properties that an update sets; a format version is one of them."""
    if item["action"] == UPGRADE:
        return {FORMAT_VERSION: str(item.get(FORMAT_VERSION))}
    return texts_of(item, "updates")


def without_paths(properties: Mapping[str, str]) -> dict[str, str]:
    """Return a staged table's properties without what the catalog had put there."""
    # They are of this branch and version; the next document has its own.
    ours = ("write.data.path", "write.metadata.path", "vcs.relation", "vcs.snapshot")
    return {key: value for key, value in properties.items() if key not in ours}


def redefine(
    writer: BranchWriter,
    overlay: Overlay,
    relation: RelationName,
    request: CommitRequest,
    metadata: Record,
) -> None:
    """Carry out the updates of a table's columns and properties in an overlay.

    Raises:
        RestError: One of them is none that the catalog can carry out.
        InputError: The table can't be changed so.
    """
    _change_columns(writer, overlay, relation, request, metadata)
    _check_spec(request, metadata)
    shown, version = dict(metadata["properties"]), int(metadata[FORMAT_VERSION])
    for item in request.updates:
        if item["action"] in ("set-properties", UPGRADE):
            stored = to_store(properties_given(item), shown, version)
            shown |= stored
            if stored:
                writer.execute(
                    overlay,
                    SetProperties(kind="table", target=target(relation), properties=stored),
                )
        elif item["action"] == "remove-properties":
            keys = to_remove(item)
            shown = {key: value for key, value in shown.items() if key not in keys}
            if keys:
                writer.execute(
                    overlay,
                    UnsetProperties(
                        kind="table",
                        target=target(relation),
                        keys=keys,
                        # Iceberg lets a client remove a property that isn't there.
                        if_exists=True,
                    ),
                )


def _change_columns(
    writer: BranchWriter,
    overlay: Overlay,
    relation: RelationName,
    request: CommitRequest,
    metadata: Record,
) -> None:
    current = _by_id(metadata["schemas"], "schema-id", metadata["current-schema-id"])
    wanted = current_after(request, metadata, "schema")
    if wanted is current:
        return
    new = read_columns(wanted)
    for statement in column_updates(relation, read_columns(current), new):
        writer.execute(overlay, statement)
    snapshot = overlay.require_table(relation)
    schema = in_order(snapshot.schema, new)
    if schema != snapshot.schema:
        changed(writer.scope(overlay), relation, snapshot, operation="alter", schema=schema)


def numbers_given(overlay: Overlay, relation: RelationName, schema: Any) -> dict[str, int]:
    """Return a client's numbers of the columns to which the catalog gave others, by field id.

    Args:
        overlay: Has the table as the commit makes it.
        schema: The client's columns, with the numbers that its files have.
    """
    fields = overlay.require_table(relation).schema
    given = {fields.field(c.name).id: c.number for c in read_columns(schema).columns}
    return {id: number for id, number in given.items() if number != field_number(id)}


def _check_spec(request: CommitRequest, metadata: Record) -> None:
    current = _by_id(metadata["partition-specs"], "spec-id", metadata["default-spec-id"])
    wanted = current_after(request, metadata, "spec")
    if _parts(wanted) != _parts(current):
        raise bad_request(
            "The partitioning of a table can't be changed in place. Build it again with the "
            "new one: create or replace table ... partitioned by (...) as select ..."
        )


def current_after(request: CommitRequest, metadata: Record, what: str) -> Any:
    """Return the schema or spec that is current after a commit."""
    default = "set-current-schema" if what == "schema" else "set-default-spec"
    shown = "current-schema-id" if what == "schema" else "default-spec-id"
    key, listed = f"{what}-id", "schemas" if what == "schema" else "partition-specs"
    current = _by_id(metadata[listed], key, metadata[shown])
    added: list[Any] = []
    for item in request.updates:
        if item["action"] == f"add-{what}":
            added.append(item.get(what))
        elif item["action"] == default:
            number = item.get(key)
            known = [*added, *metadata[listed]]
            # Protocol: -1 stands for the one that this commit added last.
            is_last = number == -1 and added
            current = added[-1] if is_last else _by_id(known, key, number)
    return current


def _by_id(items: Any, key: str, number: Any) -> Any:
    for item in items:
        if isinstance(item, Mapping) and item.get(key) == number:
            return item
    raise bad_request(f"The table has no {key} {number}.")


def _parts(spec: Any) -> list[tuple[Any, Any]]:
    fields = spec_fields(spec)
    # The order of columns makes no difference: our specs are sorted by field id.
    return sorted(((item.get("source-id"), item.get("transform")) for item in fields), key=repr)


NAME_MAPPING: Final = "schema.name-mapping.default"

# What the catalog sets for every table.
FIXED: Final = frozenset(
    {
        "write.format.default",
        "write.data.path",
        "write.metadata.path",
        "write.object-storage.enabled",
        "write.location-provider.impl",
        "write.folder-storage.path",
        "write.object-storage.path",
        "gc.enabled",
        "vcs.relation",
        "vcs.snapshot",
    }
)


def to_store(given: Mapping[str, str], shown: Mapping[str, str], version: int) -> dict[str, str]:
    """Return the properties of a request that are stored with the table.

    Left out are those that the table shows already, its format version among them, and the
    mapping of names, which is made of the columns.

    Args:
        given: As in the request.
        shown: What the table's metadata has; empty for a new table.
        version: The format version that the table has; that of others for a new table.

    Raises:
        RestError: One of them has a value that the catalog can't honour.
    """
    kept: dict[str, str] = {}
    for key, value in given.items():
        if key == FORMAT_VERSION:
            kept |= version_to_store(value, version, is_new=not shown)
        elif key == NAME_MAPPING or shown.get(key) == value:
            continue
        elif key in FIXED and not _fits(key, value):
            raise bad_request(
                f"The property {key} is set by the catalog and can't be {value!r}. Leave it out."
            )
        elif key not in FIXED:
            kept[key] = value
    return kept


def to_remove(item: Record) -> tuple[str, ...]:
    """Return the properties that an update removes.

    Raises:
        RestError: The catalog itself sets one of them.
    """
    keys = removals_of(item)
    for key in keys:
        if key in FIXED or key in (NAME_MAPPING, FORMAT_VERSION):
            raise bad_request(f"The property {key} is set by the catalog and can't be removed.")
    return keys


def version_to_store(wanted: object, version: int, *, is_new: bool) -> dict[str, str]:
    """Return the property that gives a table the format version that a client wants.

    Args:
        version: The version that the table has, or would have without the property.
        is_new: True for a table that is not there yet, which may have a lower one, too.

    Raises:
        RestError: There is no such version, or the table has a higher one.
    """
    found = next((number for number in FORMAT_VERSIONS if str(number) == str(wanted)), None)
    if found is None:
        known = " or ".join(map(str, FORMAT_VERSIONS))
        raise bad_request(
            f"The catalog serves tables in format version {known}, and the client wants "
            f"{wanted}. Name one of them, or leave the version out."
        )
    if found < version and not is_new:
        raise bad_request(
            f"The table has format version {version}, and tables don't go back to {found}."
        )
    return {} if found == version else {FORMAT_VERSION: str(found)}


def _fits(key: str, value: str) -> bool:
    """Return whether a value is what the catalog does anyway, as for a staged table's paths."""
    as_is = {
        "write.format.default": "parquet",
        "write.object-storage.enabled": "false",
        "gc.enabled": "false",
    }
    return as_is.get(key, "").lower() == value.lower()
