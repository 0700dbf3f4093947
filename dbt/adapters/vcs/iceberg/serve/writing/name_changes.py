"""Changes of names: schemas, and relations that are dropped or renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from dbt.adapters.vcs.core.model import RelationName, TableEntry, ViewEntry
from dbt.adapters.vcs.iceberg.serve.rest_error import TAKEN, RestError, no_namespace, no_relation
from dbt.adapters.vcs.iceberg.serve.writing.branch_writer import BranchWriter, target
from dbt.adapters.vcs.sql.alter import RenameRelation
from dbt.adapters.vcs.sql.definitions import CreateSchema, DropSchema
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.sql.table import DropRelation
from dbt.adapters.vcs.workspace.overlay import Overlay

_COMMENT: Final = "comment"


def create_namespace(writer: BranchWriter, schema: str, properties: Mapping[str, str]) -> None:
    """Create a schema.

    Raises:
        RestError: It is there.
    """

    def run(overlay: Overlay) -> None:
        if overlay.has_schema(schema):
            raise RestError(409, TAKEN, f"Namespace already exists: {schema}")
        stored = dict(properties)
        comment = stored.pop(_COMMENT, None)
        writer.execute(
            overlay,
            CreateSchema(name=schema, if_not_exists=False, comment=comment, properties=stored),
        )

    writer.change(f"create the schema {schema}", run)


def drop_namespace(writer: BranchWriter, schema: str) -> None:
    """Drop a schema that has no relations.

    Raises:
        RestError: It isn't there, or has some.
    """

    def run(overlay: Overlay) -> None:
        _require_schema(overlay, schema)
        held = overlay.entries(schema)
        if held:
            raise RestError(
                409,
                "NamespaceNotEmptyException",
                f"Namespace {schema} is not empty: it holds {', '.join(sorted(held)[:10])}. Drop "
                "them first.",
            )
        writer.execute(overlay, DropSchema(name=schema, if_exists=False, cascade=False))

    writer.change(f"drop the schema {schema}", run)


def change_properties(
    writer: BranchWriter, schema: str, updates: Mapping[str, str], removals: Sequence[str]
) -> dict[str, Any]:
    """Set and remove properties of a schema; return which, as the protocol wants to know.

    Raises:
        RestError: It isn't there, or a property is both set and removed.
    """
    both = sorted({*updates} & {*removals})
    if both:
        raise RestError(
            422, "UnprocessableEntityException", f"{both[0]!r} is both to be set and removed."
        )

    def run(overlay: Overlay) -> list[str]:
        _require_schema(overlay, schema)
        info = overlay.schema_info(schema)
        present = dict(info.properties)
        if info.comment is not None:
            present[_COMMENT] = info.comment
        missing = [key for key in removals if key not in present]
        after = {key: value for key, value in present.items() if key not in removals}
        after.update(updates)
        comment = after.pop(_COMMENT, None)
        overlay.put_schema(schema, comment=comment, properties=after)
        return missing

    missing, _ = writer.change(f"alter the schema {schema}", run)
    removed = [key for key in removals if key not in missing]
    return {"updated": sorted(updates), "removed": removed, "missing": missing}


def drop_relation(
    writer: BranchWriter, relation: RelationName, type_: type[TableEntry] | type[ViewEntry]
) -> None:
    """Drop a table or a view; what it was stays in the history.

    Raises:
        RestError: There is none.
    """

    def run(overlay: Overlay) -> None:
        _require(overlay, relation, type_)
        writer.execute(overlay, DropRelation(target=target(relation), kind=_kind(type_)))

    writer.change(f"drop {relation}", run)


def rename_relation(
    writer: BranchWriter,
    relation: RelationName,
    new: RelationName,
    type_: type[TableEntry] | type[ViewEntry],
) -> None:
    """Rename a table or a view; it keeps its history.

    Raises:
        RestError: There is none, or the new name is taken or in no schema.
    """

    def run(overlay: Overlay) -> None:
        _require(overlay, relation, type_)
        _require_schema(overlay, new.schema)
        there = overlay.entry(new)
        if there is not None:
            told = f"Cannot rename {relation} to {new}. {there.noun.capitalize()} already exists"
            raise RestError(409, TAKEN, told)
        writer.execute(
            overlay,
            RenameRelation(
                kind=_kind(type_),
                target=target(relation),
                new=Name(schema=new.schema, identifier=new.identifier),
            ),
        )

    writer.change(f"rename {relation} to {new}", run)


def _kind(type_: type[TableEntry] | type[ViewEntry]) -> Literal["table", "view"]:
    return "table" if type_ is TableEntry else "view"


def _require(
    overlay: Overlay, relation: RelationName, type_: type[TableEntry] | type[ViewEntry]
) -> None:
    if not isinstance(overlay.entry(relation), type_):
        raise no_relation(relation, type_)


def _require_schema(overlay: Overlay, schema: str) -> None:
    if not overlay.has_schema(schema):
        raise no_namespace(schema)
