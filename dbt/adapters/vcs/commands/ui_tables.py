"""The pages of `dbt-vcs ui` on tables: a revision's, one version, its rows, who changed a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import pyarrow as pa
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dbt.adapters.vcs.client.lazy_table import LazyTable, open_table
from dbt.adapters.vcs.commands.blame import blame
from dbt.adapters.vcs.commands.log import LogEntry, read_log
from dbt.adapters.vcs.commands.output import RowSet, cell_of
from dbt.adapters.vcs.commands.review_drawings import quantile_plot
from dbt.adapters.vcs.commands.reviewed_relations import WHOLE_BYTES, WHOLE_ROWS
from dbt.adapters.vcs.commands.revisions import parse_relation
from dbt.adapters.vcs.commands.stale import StaleTable, list_stale
from dbt.adapters.vcs.commands.ui_site import UiSite, asked, asked_number, paging
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from dbt.adapters.vcs.core.model import (
    Entry,
    Field,
    FunctionEntry,
    RelationName,
    Snapshot,
    TableEntry,
    ViewEntry,
)
from dbt.adapters.vcs.core.origins.staleness import inputs_of
from dbt.adapters.vcs.core.store.blobs import each
from dbt.adapters.vcs.core.tree_changes import TreeEntries
from dbt.adapters.vcs.sql.syntax.names import names_in
from dbt.adapters.vcs.table.files.block_reader import is_readable
from dbt.adapters.vcs.table.visible_text import visible
from dbt.adapters.vcs.workspace.points import find_version

if TYPE_CHECKING:
    from dbt.adapters.vcs.changes.diffs.row_facts import ColumnFigures

_TABLES: Final = 500
"""Relations of a page."""

_ROWS: Final = 100
_COLUMNS: Final = 60
"""Rows and columns of a page."""

_AT_ONCE: Final = 1_000
"""Rows that are read together: values may be large."""

_FURTHEST: Final = 10_000_000
"""The last row that can be asked for: those before it are read to find it."""

_LONGEST_KEY: Final = 1_000
"""Characters of a key in an address."""

_COMMITS: Final = 50
"""Newest commits of a table's history."""


class TablePages:
    """The pages of tables; none changes anything, and none starts an engine."""

    def __init__(self, site: UiSite) -> None:
        self._site = site
        self._repository = site.repository

    def routes(self) -> list[Route]:
        """Return the pages, and put the one to begin with into the menu."""
        self._site.menu.append(("Tables", "/tables"))
        return [
            Route("/tables", self.tables),
            Route("/table", self.table),
            Route("/figures", self.figures),
            Route("/rows", self.rows),
            Route("/blame", self.blame),
        ]

    def tables(self, request: Request) -> Response:
        """Return the relations of a revision whose names have all the asked words."""
        given = request.query_params
        at = given.get("at") or self._site.session().shown
        tree = self._repository.tree(self._repository.resolve(at))
        words = given.get("words", "").lower().split()
        every = sorted(
            (name, entry)
            for name, entry in TreeEntries(tree).items()
            if all(word in str(name) for word in words)
        )
        skip = asked_number(given, "skip", _FURTHEST)
        unknown: list[str] = []
        stale = list_stale(self._repository, at, lambda name, _: unknown.append(str(name)))
        why = {item.relation: item for item in stale}
        return self._site.page(
            "tables.html.j2",
            at=at,
            words=given.get("words", ""),
            relations=each(
                lambda pair: self._listed(*pair, why.get(str(pair[0]))),
                every[skip : skip + _TABLES],
            ),
            total=len(every),
            unknown=unknown,
            **paging(skip, _TABLES, has_more=skip + _TABLES < len(every)),
        )

    def _listed(
        self, name: RelationName, entry: Entry, stale: StaleTable | None
    ) -> dict[str, Any]:
        found: Snapshot | None = None
        is_damaged = False
        if isinstance(entry, TableEntry):
            try:
                found = self._repository.objects.snapshot(entry.snapshot)
            except DamagedError:
                is_damaged = True
        return {
            "name": str(name),
            "kind": entry.noun,
            "rows": found and found.rows,
            "bytes": found and found.bytes,
            "node": found and found.origin.node,
            "stale": found and stale,
            "is_damaged": is_damaged,
        }

    def table(self, request: Request) -> Response:
        """Return the page of one version of a relation, with its history."""
        name, at = parse_relation(asked(request, "name")), self._at(request)
        entry = self._entry(name, at)
        history = self._history(name, at)
        if isinstance(entry, ViewEntry | FunctionEntry):
            objects = self._repository.objects
            return self._site.page(
                "view.html.j2",
                **self._relation(name, at),
                kind=entry.noun,
                found=objects.view(entry.view)
                if isinstance(entry, ViewEntry)
                else objects.function(entry.function),
                history=history,
            )
        snapshot = self._snapshot(name, at)
        return self._site.page(
            "table.html.j2",
            **self._relation(name, at),
            snapshot=snapshot,
            key=[field.name for field in snapshot.key],
            partitions=self._names(snapshot, snapshot.partition_by),
            clusters=self._names(snapshot, snapshot.cluster_by),
            inputs=inputs_of(self._repository, name, self._version(name, at)),
            snapshots=self._repository.snapshots.of(name),
            history=history,
        )

    def figures(self, request: Request) -> Response:
        """Return the figures of each column of a version, as a page or the part of one."""
        # DuckDB takes long to load, and a table's page is there before its figures.
        from dbt.adapters.vcs.changes.diffs.row_measures import version_figures
        from dbt.adapters.vcs.engines.local_session import LocalSession

        name, at = parse_relation(asked(request, "name")), self._at(request)
        snapshot = self._snapshot(name, at)
        is_whole = snapshot.rows <= WHOLE_ROWS and snapshot.bytes <= WHOLE_BYTES
        with self._site.measuring, LocalSession(self._repository.blobs) as session:
            found = version_figures(self._repository, session, snapshot, whole=is_whole)
        return self._site.page(
            "figures.html.j2",
            **self._relation(name, at),
            is_whole=is_whole,
            columns=[
                (field, figures, _plot(figures))
                for field, figures in zip(snapshot.schema.fields, found, strict=True)
            ],
        )

    def rows(self, request: Request) -> Response:
        """Return rows of a version that meet a condition, in the order of its files."""
        given = request.query_params
        # As the figures of a page, a row's page needs what knows types, and a log does not.
        from dbt.adapters.vcs.changes.diffs.row_measures import kind_of

        name, at = parse_relation(asked(request, "name")), self._at(request)
        skip = asked_number(given, "skip", _FURTHEST)
        where = given.get("where", "").strip()
        table = self._open(name, at)
        snapshot = self._snapshot(name, at)
        columns = given.get("columns", "").strip()
        shared = self._relation(name, at)
        said, status = "", 200
        fields: list[Field] = []
        shown: list[list[str | None]] = []
        try:
            # Arrow has no type for the others, and a page should come all the same.
            fields = [field for field in table.fields if is_readable(field)]
            if columns:
                fields = list(table.scan(names_in(columns)).fields)
            fields = fields[:_COLUMNS]
            chosen = table.scan([field.name for field in fields], where or None)
            shown = [[_text(value) for value in row] for row in _slice(chosen, skip).values()]
        except NotFoundError:
            raise
        except InputError as error:
            # On the page itself, where the condition can be mended.
            said, status = str(error), 400
        return self._site.page(
            "rows.html.j2",
            status=status,
            **shared,
            where=where,
            columns=columns,
            said=said,
            total=snapshot.rows,
            more=0 if columns else len(table.fields) - len(fields),
            heads=[(field.name, kind_of(field.type) == "number") for field in fields],
            has_key=bool(key := _places(fields, snapshot)),
            rows=[
                (row, _blame_link(name, shared["revision"], fields, key, row))
                for row in shown[:_ROWS]
            ],
            skip=skip,
            **paging(skip, _ROWS, has_more=len(shown) > _ROWS),
        )

    def blame(self, request: Request) -> Response:
        """Return which commit last changed the row with some values."""
        name, at = parse_relation(asked(request, "name")), self._at(request)
        columns = request.query_params.getlist("column")
        values = request.query_params.getlist("value")
        if len(columns) != len(values):
            raise InputError("The address of this page has not one value for each column.")
        found = blame(self._repository, str(name), dict(zip(columns, values, strict=True)), at)
        before, after = found.before or {}, found.after or {}
        return self._site.page(
            "blame.html.j2",
            **self._relation(name, at),
            found=found,
            columns=[
                (column, before.get(column), after.get(column))
                for column in dict.fromkeys([*before, *after])
            ],
        )

    def _relation(self, name: RelationName, at: str) -> dict[str, Any]:
        """Return what the pages of one relation share.

        `revision` is a revision that shows it: a named snapshot, or a version's id, is none.
        """
        revision: str | None = at
        try:
            self._repository.resolve(at)
        except InputError:
            revision = find_version(self._repository, name, at).commit
        return {"name": str(name), "at": at, "revision": revision}

    def _at(self, request: Request) -> str:
        return request.query_params.get("at") or self._site.session().shown

    def _entry(self, name: RelationName, at: str) -> Entry | None:
        """Return what a revision shows under a name; None if `at` may be a version's id."""
        try:
            commit = self._repository.resolve(at)
        except InputError:
            return None
        return self._repository.tree(commit).entry(name)

    def _history(self, name: RelationName, at: str) -> list[LogEntry]:
        """Return the newest commits that changed a relation; none if `at` is no revision."""
        try:
            return list(read_log(self._repository, at, limit=_COMMITS, relation=str(name)))
        except InputError:
            return []

    def _open(self, name: RelationName, at: str) -> LazyTable:
        head = self._repository.branch(self._repository.default_branch).head
        return open_table(self._repository, name, head, at)

    def _version(self, name: RelationName, at: str) -> Any:
        return find_version(self._repository, name, at).snapshot

    def _snapshot(self, name: RelationName, at: str) -> Snapshot:
        return self._repository.objects.snapshot(self._version(name, at))

    @staticmethod
    def _names(snapshot: Snapshot, ids: Sequence[str]) -> list[str]:
        found = (snapshot.schema.by_id(id) for id in ids)
        return [field.name for field in found if field is not None]


def _plot(figures: ColumnFigures | None) -> Markup:
    if figures is None:
        return Markup("")
    said = ", ".join(visible(text, 40) for text in figures.quantile_texts)
    return quantile_plot((), figures.quantiles, said)


def _slice(table: LazyTable, skip: int) -> RowSet:
    """Return the rows of a page and one more, which says that there is a next page."""

    def parts() -> Iterator[pa.Table]:
        left = skip
        for batch in table.to_batches(_AT_ONCE):
            if left >= batch.num_rows:
                left -= batch.num_rows
                continue
            yield pa.Table.from_batches([batch.slice(left)])
            left = 0

    return RowSet(table.schema, _ROWS + 1, parts)


def _text(value: Any) -> str | None:
    return None if value is None else cell_of(value).text


def _places(fields: Sequence[Field], snapshot: Snapshot) -> list[int]:
    """Return the places of the key's columns; none if there is no key, or not all is shown."""
    ids = [field.id for field in fields]
    is_shown = all(id in ids for id in snapshot.primary_key)
    return [ids.index(id) for id in snapshot.primary_key] if is_shown else []


def _blame_link(
    name: RelationName,
    at: str | None,
    fields: Sequence[Field],
    key: Sequence[int],
    row: Sequence[str | None],
) -> str | None:
    """Return the address of who changed a row; None if no key names it, or too long a one."""
    values = [row[place] for place in key]
    if (
        at is None
        or not key
        or None in values
        or sum(map(len, filter(None, values))) > _LONGEST_KEY
    ):
        return None
    pairs = [("name", str(name)), ("at", at)]
    for place, value in zip(key, values, strict=True):
        pairs += [("column", fields[place].name), ("value", str(value))]
    return f"/blame?{urlencode(pairs)}"
