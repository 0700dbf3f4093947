"""Branch writers: one request's changes of a branch, put there as one commit or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, Final, Literal, NoReturn, TypeVar

from dbt.adapters.vcs.changes.merges.conflicts.open_merges import open_merge_of
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import Origin, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.serve.access import Bearer
from dbt.adapters.vcs.iceberg.serve.rest_protocol import (
    NO_NAMESPACE,
    TAKEN,
    EntryType,
    Namespace,
    RestError,
    bad_request,
    forbidden,
    name_taken,
    no_namespace,
    no_relation,
)
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import target
from dbt.adapters.vcs.sql.schema import CreateSchema, DropSchema
from dbt.adapters.vcs.sql.syntax.names import Name
from dbt.adapters.vcs.sql.syntax.parser import Statement
from dbt.adapters.vcs.sql.table import DropRelation, RenameRelation
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace, landed_commit
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.overlay import Overlay
from dbt.adapters.vcs.workspace.run_branch import Status, run_of
from dbt.adapters.vcs.workspace.statement_scope import Scope, handler_of

T = TypeVar("T")

NOBODY: Final = "catalog"
"""The author of commits where no tokens are used."""

_CLIENT: Final = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,30}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchWriter:
    """Changes one branch for one request.

    Attributes:
        branch: The branch's name.
        author: Who is recorded: the token's name.
        client: The program that asks.
        sees_tags: Whether it may know the repository's tags.
        format_version: Format version of the tables whose properties say none.
    """

    repository: Repository
    branch: str
    author: str
    client: str
    sees_tags: bool
    format_version: int = 2

    def change(self, what: str, run: Callable[[Overlay], T]) -> tuple[T, str]:
        """Let a function change what the branch shows now, and commit that.

        If another writer changes the same relation meanwhile, the function is called again, with
        what the branch shows then.

        Args:
            what: What is done, for the commit's message: `append to analytics.orders`.
            run: Makes the changes; it sees one commit of the branch.

        Returns:
            What the function returned, and the branch's head after the commit.

        Raises:
            ProtectedError: The branch takes changes by promotion only.
            RetryError: Others were first every time; nothing was changed.
        """

        def work(overlay: Overlay) -> tuple[T, CommitId]:
            return run(overlay), overlay.base

        workspace = self.workspace
        workspace.line.check_open()
        message = f"{self.client} {what} through the catalog"
        (found, seen), landed = landed_commit(workspace, work, message)
        return found, seen if landed is None else landed.commit

    @property
    def workspace(self) -> Workspace:
        """A workspace of the branch that runs no query."""
        line = BranchLine(self.repository, self.branch, self.author)
        # No request may start Spark in the server.
        return Workspace(self.repository, line, _no_engine, schema="default")

    def execute(self, overlay: Overlay, statement: Statement) -> None:
        """Carry out a statement that needs no engine, as if a person had typed it."""
        handler = handler_of(statement)
        assert handler is not None
        handler(self.scope(overlay), statement)

    def scope(self, overlay: Overlay) -> Scope:
        """Return what a change works with that is no statement."""
        return self.workspace.connect("catalog").scope(self.client, overlay, Origin())


def writer_of(
    repository: Repository,
    revision: str,
    bearer: Bearer,
    client: str | None,
    format_version: int,
) -> BranchWriter:
    """Return the writer of a branch.

    Args:
        revision: The request's warehouse.
        bearer: Who asks.
        client: How the client calls itself.
        format_version: Format version of the tables whose properties say none.

    Raises:
        RestError: The revision is no branch, or the bearer may not write to it.
    """
    # Before the branch is looked for: nobody learns which names there are.
    bearer.check_reads(repository, revision)
    found = repository.find_branch(revision)
    if found is None:
        _refuse_revision(repository, revision)
    # A tag goes before a branch of its name, so a client would not see what it wrote.
    if repository.resolve(revision) != found.head and repository.find_tag(revision) is not None:
        raise bad_request(
            f"{revision!r} is a tag, too, and that is what clients read. Rename one of them to "
            "write to the branch."
        )
    if not bearer.writes(revision):
        raise forbidden(
            f"The token {bearer.name!r} has the role reader on the branch {revision!r}. Ask "
            "whoever runs the server for the role writer there.",
        )
    run = run_of(found)
    takes_work = run is not None and run.is_shared and run.status is Status.OPEN
    if (run is not None and not takes_work) or open_merge_of(found) is not None:
        raise bad_request(
            f"The branch {revision!r} belongs to a run or to a merge that waits. Write to a "
            f"branch of your own: dbt-vcs branch create NAME {quote(revision)}"
        )
    name = NOBODY if bearer.name == "-" else bearer.name
    # The header is anybody's word, and goes into a commit's message.
    # Iceberg's Java client begins with its foundation: `Apache Iceberg 1.12.0`.
    match = _CLIENT.match((client or "").removeprefix("Apache "))
    return BranchWriter(
        repository=repository,
        branch=revision,
        author=name,
        client=match[0] if match else "A client",
        sees_tags=bearer.is_whole,
        format_version=format_version,
    )


def relation_name(namespace: Namespace, name: str) -> RelationName:
    """Return the relation of a name in a schema.

    Raises:
        RestError: The namespace is no schema's, or the name is none that a relation can have.
    """
    if not name or "\0" in name:
        raise bad_request(f"{name!r} can't be the name of a table.")
    return RelationName(schema_name(namespace), name.lower())


def schema_name(namespace: Namespace) -> str:
    """Return the schema that a namespace is.

    Raises:
        RestError: It has several levels, or none.
    """
    if len(namespace) != 1 or not namespace[0]:
        shown = ".".join(namespace)
        raise bad_request(f"Schemas have one level in a repository; found {shown!r}.")
    return namespace[0].lower()


def require_schema(overlay: Overlay, schema: str) -> None:
    """Check that a schema is there.

    Raises:
        RestError: It isn't.
    """
    if not overlay.has_schema(schema):
        raise no_namespace(schema)


def check_free(overlay: Overlay, relation: RelationName, type_: EntryType) -> None:
    """Check that a name is free for a table or a view.

    Raises:
        RestError: It is taken.
    """
    entry = overlay.entry(relation)
    if entry is not None:
        raise name_taken(relation, entry, type_)


def _refuse_revision(repository: Repository, revision: str) -> NoReturn:
    try:
        repository.resolve(revision)
    except InputError as error:
        raise RestError(404, NO_NAMESPACE, str(error)) from None
    raise bad_request(
        f"{revision!r} is not a branch, and only branches change. Make one, and use it as the "
        f"warehouse: dbt-vcs branch create NAME {quote(revision)}"
    )


def _no_engine() -> NoReturn:
    raise UnsupportedError(
        "This change reads rows with Spark, which the catalog doesn't run. Make it with dbt or "
        "with `dbt-vcs sql`."
    )


COMMENT: Final = "comment"
"""Iceberg has the comment of a schema, table or view among its properties."""


def create_namespace(writer: BranchWriter, schema: str, properties: Mapping[str, str]) -> None:
    """Create a schema.

    Raises:
        RestError: It is there.
    """

    def run(overlay: Overlay) -> None:
        if overlay.has_schema(schema):
            raise RestError(409, TAKEN, f"Namespace already exists: {schema}")
        stored = dict(properties)
        comment = stored.pop(COMMENT, None)
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
        require_schema(overlay, schema)
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
        require_schema(overlay, schema)
        info = overlay.schema_info(schema)
        present = dict(info.properties)
        if info.comment is not None:
            present[COMMENT] = info.comment
        missing = [key for key in removals if key not in present]
        after = {key: value for key, value in present.items() if key not in removals}
        after.update(updates)
        comment = after.pop(COMMENT, None)
        overlay.put_schema(schema, comment=comment, properties=after)
        return missing

    missing, _ = writer.change(f"alter the schema {schema}", run)
    removed = [key for key in removals if key not in missing]
    return {"updated": sorted(updates), "removed": removed, "missing": missing}


def drop_relation(writer: BranchWriter, relation: RelationName, type_: EntryType) -> None:
    """Drop a table or a view; what it was stays in the history.

    Raises:
        RestError: There is none.
    """

    def run(overlay: Overlay) -> None:
        _require(overlay, relation, type_)
        writer.execute(overlay, DropRelation(target=target(relation), kind=_kind(type_)))

    writer.change(f"drop {relation}", run)


def rename_relation(
    writer: BranchWriter, relation: RelationName, new: RelationName, type_: EntryType
) -> None:
    """Rename a table or a view; it keeps its history.

    Raises:
        RestError: There is none, or the new name is taken or in no schema.
    """

    def run(overlay: Overlay) -> None:
        _require(overlay, relation, type_)
        require_schema(overlay, new.schema)
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


def _kind(type_: EntryType) -> Literal["table", "view"]:
    return "table" if type_ is TableEntry else "view"


def _require(overlay: Overlay, relation: RelationName, type_: EntryType) -> None:
    if not isinstance(overlay.entry(relation), type_):
        raise no_relation(relation, type_)
