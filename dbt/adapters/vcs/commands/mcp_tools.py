"""The tools of `dbt-vcs mcp`: what commands that look at a repository find, as JSON."""

from __future__ import annotations

import inspect
import json
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import combinations
from typing import Annotated, Any, Final, TypeAlias

import click
import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

from dbt.adapters.vcs.__version__ import version
from dbt.adapters.vcs.changes.diffs.row_facts import MASK, ColumnPatterns, Secrets
from dbt.adapters.vcs.client.lazy_table import LazyTable, list_tables, open_table, relation_of_text
from dbt.adapters.vcs.commands.branch import list_branches
from dbt.adapters.vcs.commands.diff import Ends, read_diff, read_ends, read_points, resolved
from dbt.adapters.vcs.commands.diff_report import DiffReport
from dbt.adapters.vcs.commands.failure import failing_plainly
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.options import Settings, with_options
from dbt.adapters.vcs.commands.output import RowSet, json_value
from dbt.adapters.vcs.commands.review import column_patterns, review_of
from dbt.adapters.vcs.commands.reviewed_relations import without_secrets
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.status import read_status
from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId, TableId
from dbt.adapters.vcs.core.model import RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.tree_changes import TreeEntries

MOST: Final = 1_000
"""Items of one answer, at most."""

BYTES: Final = 256 * 1024
"""Bytes of the items of one answer as JSON, at most; the first item may have more."""

_ABOUT: Final = (
    "Reads a dbt-vcs repository: version control for the tables that dbt builds on Spark. A "
    "revision is a branch, a tag, a commit id or its first digits, or relative to one of these: "
    "main~2, main@{1}, main@{2026-11-20 12:00}. Nothing here changes the repository. Values that "
    f"the project keeps out of reviews are left out, or are {MASK}."
)

Limit: TypeAlias = Annotated[int, Field(ge=1, le=MOST, description="Items at most.")]
At: TypeAlias = Annotated[
    str | None, Field(description="A revision; the profile's branch without it.")
]


def mcp_server(settings: Settings, repository: Repository) -> MCPServer[Any]:
    """Return a server whose tools read the repository, one call after another."""
    tools = McpTools(settings, repository)
    hints = ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    made: list[Tool] = []
    for tool in (
        tools.status,
        tools.branches,
        tools.log,
        tools.diff,
        tools.review,
        tools.tables,
        tools.rows,
    ):
        about = " ".join(inspect.cleandoc(tool.__doc__ or "").split())
        made.append(_ExactTool.from_function(tool, description=about, annotations=hints))
        made[-1].parameters["additionalProperties"] = False
    return _Server("dbt-vcs", version=version, instructions=_ABOUT, tools=made)


class _Server(MCPServer[Any]):
    """A server that says which tools there are if it has no such one."""

    async def call_tool(self, name: str, *given: Any, **named: Any) -> Any:
        """Call a tool; see `MCPServer.call_tool`.

        Raises:
            ToolError: There is no such tool, or it failed.
        """
        known = [tool.name for tool in await self.list_tools()]
        if name not in known:
            raise ToolError(
                f"There is no tool {_clipped(repr(name))}. There are {', '.join(known)}."
                f"{_meant(name, known)}"
            )
        return await super().call_tool(name, *given, **named)


_KINDS: Final = {
    "string": "a text",
    "boolean": "true or false",
    "integer": "a number from {minimum} to {maximum}",
    "array": "a list of texts",
}
"""What an argument has to be, by the type in its schema."""

_LONGEST: Final = 100
"""Characters of what was given, at most, that an error shows."""


class _ExactTool(Tool):
    """A tool that says in a sentence what is wrong with its arguments.

    The library ignores those that a tool doesn't have, and lists the reasons of its checks.
    """

    async def run(self, arguments: dict[str, Any], *given: Any, **named: Any) -> Any:
        """Run the tool; see `Tool.run`.

        Raises:
            ToolError: There is no such argument, one is missing or of another kind, or the tool
                failed.
        """
        known = list(self.parameters["properties"])
        for name in arguments:
            if name not in known:
                # Or `tables` of a revision would be those of the profile's branch.
                raise ToolError(
                    f"{self.name} has no argument {_clipped(repr(name))}. It takes "
                    f"{', '.join(known)}.{_meant(name, known)}"
                )
        try:
            self.fn_metadata.validate_arguments(arguments)
        except ValidationError as error:
            raise ToolError(self._refusal(arguments, str(error.errors()[0]["loc"][0]))) from error
        return await super().run(arguments, *given, **named)

    def _refusal(self, arguments: Mapping[str, Any], name: str) -> str:
        """Return what is wrong with an argument, and what to give."""
        known = self.parameters["properties"][name]
        # One that may be left out is either a value or null.
        value = next(
            part for part in known.get("anyOf", [known]) if part.get("type") not in (None, "null")
        )
        expected = _KINDS[value["type"]].format_map(value)
        if name not in arguments:
            return (
                f"{self.name} needs {name}, {expected}: {known['description']} It takes "
                f"{', '.join(self.parameters['properties'])}."
            )
        found = _clipped(json.dumps(arguments[name]))
        required = name in self.parameters.get("required", ())
        step = "" if required else f" Give one, or leave {name} out."
        return f"{self.name} expected {expected} as {name}, found {found}.{step}"


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _meant(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    return f" Did you mean {near[0]}?" if near else ""


class McpTools:
    """Tools by name. Each returns an object, or says what went wrong as the commands do."""

    def __init__(self, settings: Settings, repository: Repository) -> None:
        self._settings = settings
        self._repository = repository
        # One call at a time, as each may need much memory.
        self._working = threading.Lock()

    def status(self, branch: At = None) -> CallToolResult:
        """Show the status of the repository and a branch.

        Counts of its contents, what protects it, stale tables, merges that wait, and dbt runs that
        failed or wait.
        """
        return self._answer(
            lambda session: read_status(
                session.repository,
                branch or session.branch,
                (lambda: session.rules) if session.target else None,
            )
        )

    def branches(self, with_runs: bool = False, limit: Limit = 100) -> CallToolResult:
        """List the branches with their heads, and the commits ahead of and behind the default one.

        Those of dbt runs only with `with_runs`.
        """

        def read(session: CommandSession) -> Mapping[str, Any]:
            damaged: list[str] = []
            found = list_branches(
                session.repository, damaged.append, with_runs=with_runs, first=limit
            )
            return {**_first("branches", found, limit), "damaged": damaged}

        return self._answer(read)

    def log(
        self,
        revision: Annotated[
            str | None, Field(description="A revision, or a range A..B; else the profile's branch")
        ] = None,
        table: Annotated[
            str | None, Field(description="Only commits that changed it: schema.table")
        ] = None,
        stat: Annotated[bool, Field(description="With what each commit changed.")] = False,
        limit: Limit = 20,
    ) -> CallToolResult:
        """List the commits of a revision, newest first."""
        return self._answer(
            lambda session: _first(
                "commits",
                read_log(session.repository, revision or session.shown, relation=table, stat=stat),
                limit,
            )
        )

    def diff(
        self,
        revisions: Annotated[
            str | None,
            Field(
                description="A..B compares B with A, A...B with where it forked from A, A with "
                "the profile's branch; else that branch with where it forked."
            ),
        ] = None,
        table: Annotated[
            str | None, Field(description="Also the rows of it that differ: schema.table")
        ] = None,
        limit: Limit = 50,
    ) -> CallToolResult:
        """Show how two commits differ: relations, numbers of rows, columns, rows of one table."""

        def read(session: CommandSession) -> Mapping[str, Any]:
            words = [word for word in (revisions, table) if word is not None]
            ends = read_ends(session.repository, words, session.shown)
            if ends.tables:
                raise InputError(
                    f"Expected revisions, such as main...dev, found {revisions!r}. Give the "
                    "name of a table as table."
                )
            report = read_diff(session.repository, words, branch=session.shown, limit=limit)
            patterns, history = column_patterns(session), _Histories(session, ends)
            return _shown_diff(report, patterns, history, limit)

        return self._answer(read)

    def review(
        self,
        revisions: Annotated[
            str, Field(description="BASE...HEAD: what HEAD changed since it forked from BASE.")
        ],
        limit: Limit = 20,
    ) -> CallToolResult:
        """Review what a branch changes before it is merged.

        Whether it can be merged, how each relation differs and why, figures by column, a sample of
        rows and at most `limit` more for each relation, SQL, lineage, commands to type next.
        """
        return self._answer(lambda session: review_of(session, revisions, limit))

    def tables(
        self,
        at: At = None,
        part: Annotated[str, Field(description="Only those with this in their name.")] = "",
        limit: Limit = 200,
    ) -> CallToolResult:
        """List the tables, views and functions of a revision, with numbers of rows."""
        return self._answer(
            lambda session: _first(
                "tables",
                list_tables(
                    session.repository, session.repository.resolve(at or session.shown), part
                ),
                limit,
            )
        )

    def rows(
        self,
        table: Annotated[str, Field(description="schema.table; a view has no rows here.")],
        at: Annotated[
            str | None, Field(description="A revision, or a named snapshot of the table.")
        ] = None,
        columns: Annotated[
            list[str] | None, Field(description="Only these columns, in this order.")
        ] = None,
        where: Annotated[
            str | None,
            Field(description="Comparisons with constants: id = 7 and day > '2026-01-01'"),
        ] = None,
        limit: Limit = 50,
    ) -> CallToolResult:
        """Return rows of a version of a table, in the order of its files."""

        def read(session: CommandSession) -> Mapping[str, Any]:
            repository = session.repository
            found = open_table(
                repository,
                relation_of_text(table, session.schema),
                repository.resolve(session.shown),
                at,
            )
            patterns, history = column_patterns(session), _Histories(session)
            secrets = history.secrets(patterns, found.name, [found.version])
            return _shown_rows(found, secrets, columns, where, limit)

        return self._answer(read)

    def _answer(self, read: Callable[[CommandSession], Any]) -> CallToolResult:
        with self._working:
            # It reads the profile and vcs.yml again, so that rules hold once they are written.
            session = CommandSession(self._settings)
            session.repository = self._repository
            try:
                with failing_plainly():
                    found = json_value(read(session))
            except click.ClickException as failure:
                if self._settings.debug and failure.__cause__ is not None:
                    traceback.print_exception(failure.__cause__, file=sys.stderr)
                said = with_options(failure.format_message(), self._settings)
                return CallToolResult(content=[_text(said)], is_error=True)
        # As text, too, for clients that know nothing else.
        text = msgspec.json.encode(found).decode()
        return CallToolResult(content=[_text(text)], structured_content=found)


def _text(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _first(name: str, items: Iterable[Any], limit: int) -> dict[str, Any]:
    """Return the first items under a name, and whether they are all: `is_complete`."""
    found: list[Any] = []
    size, is_complete = 0, True
    for item in items:
        value = json_value(item)
        size += len(msgspec.json.encode(value))
        if len(found) == limit or (found and size > BYTES):
            is_complete = False
            break
        found.append(value)
    return {name: found, "is_complete": is_complete}


class _Histories:
    """The names that tables and columns have at several commits, among them what is shown now.

    A project says what stays out by the names of now, or of then: what it says of either name
    holds for both.
    """

    def __init__(self, session: CommandSession, ends: Ends | None = None) -> None:
        """Look at what is shown now, and at both ends of a diff."""
        self._repository = session.repository
        self._branch = session.shown
        self._commits = [session.repository.resolve(session.shown)]
        self._ends = ends
        self._tables: dict[CommitId, list[tuple[RelationName, Snapshot]]] = {}
        if ends is None:
            return
        if ends.table is None:
            self._commits += resolved(self._repository, ends)
            return
        # The ends may be named snapshots of the table, too.
        texts = (ends.before.removesuffix("..."), ends.after)
        known = filter(self._repository.is_known, texts)
        self._commits += map(self._repository.resolve, known)

    def compared(self, name: RelationName) -> list[SnapshotId]:
        """Return the versions of a table that the diff compares."""
        assert self._ends is not None
        if self._ends.table is not None:
            points = read_points(self._repository, self._ends, self._branch)
            return [point.id for point in points or () if point.id is not None]
        entries = (
            self._repository.tree(commit).entry(name)
            for commit in resolved(self._repository, self._ends)
        )
        return [entry.snapshot for entry in entries if isinstance(entry, TableEntry)]

    def secrets(
        self,
        patterns: ColumnPatterns,
        name: RelationName,
        versions: Sequence[SnapshotId],
        others: Iterable[str] = (),
    ) -> Secrets:
        """Return which columns of these versions of a table, and which others, stay out."""
        if not (patterns.hide or patterns.mask):
            return Secrets()
        shown = [self._repository.objects.snapshot(version) for version in versions]
        tables, names = {item.table for item in shown}, {name}
        for commit in dict.fromkeys(self._commits):
            for other, item in self._versions(commit, name, tables):
                names.add(other)
                shown.append(item)
        columns: dict[str, set[str]] = {}
        for item in shown:
            for field in item.schema.fields:
                columns.setdefault(field.id, set()).add(field.name)
        renamed = [pair for same in columns.values() for pair in combinations(same, 2)]
        return patterns.of(names, {*others}.union(*columns.values()), renamed)

    def _versions(
        self, commit: CommitId, name: RelationName, tables: Collection[TableId]
    ) -> list[tuple[RelationName, Snapshot]]:
        """Return what a commit shows of tables, of which one may be called `name`."""
        objects = self._repository.objects
        entry = self._repository.tree(commit).entry(name)
        if isinstance(entry, TableEntry):
            same = objects.snapshot(entry.snapshot)
            if same.table in tables:
                return [(name, same)]
        # It has another name there, or none: only each table itself knows.
        if commit not in self._tables:
            entries = TreeEntries(self._repository.tree(commit)).items()
            shown = [(key, item) for key, item in entries if isinstance(item, TableEntry)]
            found = each(lambda pair: objects.snapshot(pair[1].snapshot), shown)
            names = (key for key, _ in shown)
            self._tables[commit] = list(zip(names, found, strict=True))
        return [item for item in self._tables[commit] if item[1].table in tables]


def _shown_diff(
    report: DiffReport, patterns: ColumnPatterns, history: _Histories, limit: int
) -> dict[str, Any]:
    """Return a diff without the values that stay out."""
    relations, secrets = [], Secrets()
    for relation in report.relations:
        name = RelationName.of(relation.name)
        named = [*report.heads, *(item.column for item in relation.columns)]
        secrets = history.secrets(patterns, name, history.compared(name), named)
        columns = tuple(without_secrets(relation.columns, secrets))
        relations.append(replace(relation, columns=columns))
    # There are rows only of a single relation.
    rows = _first("rows", (_kept(row, secrets) for row in report.rows), limit)
    rows["is_complete"] = len(rows["rows"]) == report.row_count
    heads, key = (
        tuple(name for name in names if name.lower() not in secrets.hidden)
        for names in (report.heads, report.key)
    )
    shown = replace(report, relations=tuple(relations), heads=heads, key=key, rows=RowSet.none())
    return {**json_value(shown), **rows}


def _shown_rows(
    table: LazyTable,
    secrets: Secrets,
    columns: list[str] | None,
    where: str | None,
    limit: int,
) -> dict[str, Any]:
    """Return rows without the values that stay out, which no condition can find out either."""
    refusal = (
        "The project keeps {} out of reviews (vcs.yml, or the column's meta), and so out of {}. "
        "Leave it out."
    )
    if columns is None:
        columns = [f.name for f in table.fields if f.name.lower() not in secrets.hidden]
    for name in columns:
        if name.lower() in secrets.hidden:
            raise InputError(refusal.format(f"{table.name}.{name}", "columns"))
    found = table.scan(columns, where)
    for field in found.filtered:
        if field.name.lower() in {*secrets.hidden, *secrets.masked}:
            raise InputError(refusal.format(f"{table.name}.{field.name}", "conditions"))
    # One more shows that there are others.
    rows = RowSet(found.schema, limit + 1, lambda: found.to_batches(limit + 1))
    return {
        "table": str(table.name),
        "columns": [{"name": field.name, "type": field.type} for field in found.fields],
        **_first("rows", (_kept(row, secrets) for row in rows), limit),
    }


def _kept(row: Mapping[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Return a row without what is hidden, and with a mask for what is masked."""
    return {
        name: MASK if name.lower() in secrets.masked else value
        for name, value in row.items()
        if name.lower() not in secrets.hidden
    }
