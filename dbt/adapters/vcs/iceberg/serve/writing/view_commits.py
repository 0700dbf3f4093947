"""View commits: views that clients create and change, as commits on a branch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName, View, ViewColumn, ViewEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.serve.documents import Body, Documents
from dbt.adapters.vcs.iceberg.serve.rest_protocol import (
    UNSUPPORTED,
    RestError,
    bad_request,
    no_relation,
)
from dbt.adapters.vcs.iceberg.serve.writing.branch_writer import (
    COMMENT,
    BranchWriter,
    check_free,
    require_schema,
)
from dbt.adapters.vcs.iceberg.serve.writing.commit_request import (
    CommitRequest,
    Record,
    is_texts,
    removals_of,
    requirement_failed,
    texts_of,
)
from dbt.adapters.vcs.iceberg.serve.writing.iceberg_columns import read_columns
from dbt.adapters.vcs.iceberg.table_metadata import DIALECT, view_uuid
from dbt.adapters.vcs.sql.syntax.names import CATALOG
from dbt.adapters.vcs.sql.syntax.parser import Query, parse
from dbt.adapters.vcs.sql.view import stored_view
from dbt.adapters.vcs.workspace.overlay import Overlay

_QUERIED: Final = "spark.query-column-names"
"""Where Spark's client notes the names that the query itself gives to its columns."""

_LAST: Final = -1
"""The schema or the version that the same request adds."""

_ELSEWHERE: Final = re.compile(
    rf"\b(?:from|join)\s+(?!{CATALOG}\b)(\w+|`[^`]+`)\s*\.\s*(?:\w+|`[^`]+`)\s*\.",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenView:
    """A view's version as a client gives it.

    Attributes:
        sql: The query, in Spark's dialect.
        catalog: The catalog of names without one, if it isn't the view's.
        schema: The schema of names without one.
        properties: Its properties, with the comment.
    """

    relation: RelationName
    sql: str
    catalog: str | None
    schema: str
    columns: tuple[ViewColumn, ...]
    properties: Mapping[str, str]


class ViewCommits:
    """Carries out what clients do to views."""

    def __init__(self, repository: Repository, documents: Documents) -> None:
        self._repository = repository
        self._documents = documents

    def create(self, writer: BranchWriter, relation: RelationName, body: Record) -> Body:
        """Create a view, and return it as it is loaded.

        The query is not run: the client that knows its columns has checked it.

        Raises:
            RestError: The name is taken, or a repository can't hold such a view.
        """
        _refuse_location(body.get("location"))
        columns = _columns(body.get("schema"))
        given = _given_view(
            relation, body.get("view-version"), columns, texts_of(body, "properties")
        )

        def run(overlay: Overlay) -> None:
            require_schema(overlay, relation.schema)
            check_free(overlay, relation, ViewEntry)
            _put(writer, overlay, given)

        return self._loaded_view(writer.change(f"create the view {relation}", run)[1], relation)

    def commit(self, writer: BranchWriter, relation: RelationName, request: CommitRequest) -> Body:
        """Change a view, and return it as it is loaded.

        Raises:
            RestError: There is none, a requirement doesn't hold, or an update can't be carried
                out; then nothing was changed.
        """

        def run(overlay: Overlay) -> None:
            before = self._view(overlay, relation)
            self._check(relation, request)
            after = _view_after(relation, request, before)
            if isinstance(after, GivenView):
                _put(writer, overlay, after)
            elif after != before:
                overlay.put_view(relation, after)

        return self._loaded_view(writer.change(f"alter the view {relation}", run)[1], relation)

    def _view(self, overlay: Overlay, relation: RelationName) -> View:
        entry = overlay.entry(relation)
        if not isinstance(entry, ViewEntry):
            raise no_relation(relation, ViewEntry)
        return overlay.view(entry.view)

    def _check(self, relation: RelationName, request: CommitRequest) -> None:
        there = view_uuid(self._repository, relation)
        for item in request.requirements:
            # The protocol has one requirement of views.
            if item["type"] != "assert-view-uuid":
                raise bad_request(f"There is no requirement {item['type']!r} of a view.")
            if item.get("uuid") != there:
                raise requirement_failed(
                    f"view UUID does not match: expected {item.get('uuid')} != {there}", "view"
                )

    def _loaded_view(self, head: str, relation: RelationName) -> Body:
        commit = CommitId(head)
        entry = self._repository.tree(commit).entry(relation)
        if not isinstance(entry, ViewEntry):
            raise RestError(409, "CommitFailedException", f"{relation} was dropped meanwhile.")
        return self._documents.body(commit, relation, entry)


def _put(writer: BranchWriter, overlay: Overlay, given: GivenView) -> None:
    try:
        query = parse(given.sql)
    except InputError as error:
        raise bad_request(str(error)) from None
    if not isinstance(query, Query):
        raise bad_request(f"The view {given.relation} needs a query, found {given.sql[:60]!r}.")
    elsewhere = next((found[1] for found in _ELSEWHERE.finditer(given.sql)), None)
    # A query without relations means the same in any catalog.
    if query.reads:
        elsewhere = elsewhere or given.catalog
    if elsewhere:
        raise bad_request(
            f"The view {given.relation} reads the catalog {elsewhere}, and views of a repository "
            "read relations of their own branch, whatever a client calls the catalog. Make the "
            "view's catalog the current one (in Spark: use CATALOG), and write names as "
            "schema.relation."
        )
    scope = replace(writer.scope(overlay), schema=given.schema)
    stored = stored_view(scope, given.relation, query)
    properties = dict(given.properties)
    names = ",".join(column.name for column in given.columns)
    view = msgspec.structs.replace(
        stored,
        columns=given.columns,
        # Spark names the columns itself unless the query already has these names.
        aliased=properties.pop(_QUERIED, "") != names,
        comment=properties.pop(COMMENT, None),
        properties=properties,
    )
    overlay.put_view(given.relation, view)


def _view_after(relation: RelationName, request: CommitRequest, before: View) -> View | GivenView:
    """Return a view after a commit's updates: as stored, or with a query to be stored."""
    properties = dict(before.properties)
    if before.comment is not None:
        properties[COMMENT] = before.comment
    columns: tuple[ViewColumn, ...] = before.columns
    version: Any = None
    for update in request.updates:
        action = update["action"]
        if action == "add-schema":
            columns = _columns(update.get("schema"))
        elif action == "add-view-version":
            version = update.get("view-version")
        elif action in ("set-properties", "remove-properties"):
            properties = _properties_after(properties, update)
        else:
            _check_update(relation, update, adds_version=version is not None)
    if version is not None:
        return _given_view(relation, version, columns, properties)
    return msgspec.structs.replace(
        before, comment=properties.pop(COMMENT, None), properties=properties
    )


def _properties_after(properties: Mapping[str, str], update: Record) -> dict[str, str]:
    removals = removals_of(update)
    kept = {key: value for key, value in properties.items() if key not in removals}
    return kept | texts_of(update, "updates")


def _check_update(relation: RelationName, update: Record, *, adds_version: bool) -> None:
    """Check an update that changes nothing by itself."""
    action = update["action"]
    if action == "set-current-view-version":
        if update.get("view-version-id") != _LAST and not adds_version:
            raise bad_request(
                f"Older versions of {relation} are in the branch's history: restore one with "
                "`dbt-vcs restore`."
            )
    elif action == "set-location":
        _refuse_location(update.get("location"))
    elif action not in ("assign-uuid", "upgrade-format-version"):
        raise bad_request(f"There is no update {action!r} of a view.")


def _given_view(
    relation: RelationName,
    version: Any,
    columns: tuple[ViewColumn, ...],
    properties: Mapping[str, str],
) -> GivenView:
    if not isinstance(version, Mapping):
        raise bad_request(f"Expected an object as view-version, found {version!r}.")
    sql = _sql(relation, version.get("representations"))
    namespace = version.get("default-namespace") or [relation.schema]
    if not is_texts(namespace):
        raise bad_request("Expected a list of names as default-namespace.")
    return GivenView(
        relation=relation,
        sql=sql,
        catalog=version.get("default-catalog") or None,
        # In the catalog of all branches the level before is the branch.
        schema=namespace[-1].lower(),
        columns=columns,
        properties=properties,
    )


def _sql(relation: RelationName, representations: Any) -> str:
    found = representations if isinstance(representations, list) else []
    texts = {
        str(item.get("dialect", "")).lower(): item.get("sql")
        for item in found
        if isinstance(item, Mapping) and item.get("type") == "sql"
    }
    text = texts.get(DIALECT)
    if isinstance(text, str):
        return text
    raise RestError(
        406,
        UNSUPPORTED,
        f"The view {relation} is written for {', '.join(sorted(texts)) or 'no dialect'}, and "
        f"views of a repository are read by Spark, too. Give its query in the dialect "
        f"{DIALECT!r}, or create the view with dbt or `dbt-vcs sql`.",
    )


def _columns(schema: Any) -> tuple[ViewColumn, ...]:
    return tuple(
        ViewColumn(name=column.name, type=column.type, comment=column.comment)
        for column in read_columns(schema).columns
    )


def _refuse_location(location: Any) -> None:
    if location:
        raise bad_request("The catalog chooses where a view's metadata lies. Leave it out.")
