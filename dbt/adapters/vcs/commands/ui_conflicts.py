"""The pages of `dbt-vcs ui` that review a branch, and resolve the conflicts of its merge.

They decide as `dbt-vcs resolve` does, and continue, abort and begin merges as `dbt-vcs merge` and
`promote` do. Whoever sends a decision says what they saw: a row that somebody else decided
meanwhile is shown again instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

import pyarrow as pa
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from dbt.adapters.vcs.changes.merges.approvals import approvals_of, approve
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.conflict_tables import SIDES, ConflictTable
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import (
    PREFIX,
    OpenMerge,
    Terms,
    find_open_merge,
    open_merges,
    tables_of,
)
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice, Order, cell_of
from dbt.adapters.vcs.commands.conflict_rows import conflict_rows
from dbt.adapters.vcs.commands.conflicts import conflicts_left, list_conflicts, relation_of
from dbt.adapters.vcs.commands.merge import (
    abort_merge,
    merge_request,
    noted_continuation,
    noted_merge,
)
from dbt.adapters.vcs.commands.resolve import last_decision, resolve, undo_decision
from dbt.adapters.vcs.commands.review import review, review_request
from dbt.adapters.vcs.commands.review_page import page_values
from dbt.adapters.vcs.commands.revisions import named_branch, resolve_source
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.ui_site import Form, UiSite, asked, asked_number, paging, posting
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.table.exact_values import Given
from dbt.adapters.vcs.workspace.run_branch import run_of

SEEN: Final = frozenset({"tests", "approval"})
"""What a branch can require that has to see the very versions that are published."""


class ReviewPages:
    """The review of two revisions, and what can be done about it."""

    def __init__(self, site: UiSite) -> None:
        self._site = site
        self._repository = site.repository

    def routes(self) -> list[Route]:
        """Return the pages."""
        return [
            Route("/review", self.review),
            Route("/approve", posting(self.approve), methods=["POST"]),
        ]

    def review(self, request: Request) -> Response:
        """Return the review of what a revision changes; with `direct`, not from the merge base."""
        repository = self._repository
        base = request.query_params.get("base") or repository.default_branch
        head = asked(request, "head")
        session = self._site.session()
        with self._site.measuring:
            found = review(
                repository,
                base,
                head,
                review_request(session, base),
                from_merge_base="direct" not in request.query_params,
            )
        branch = named_branch(repository, head)
        # Of two commits by their ids, nothing would move.
        is_whole = "direct" not in request.query_params
        into = named_branch(repository, base) if is_whole else None
        verdict = found.verdict
        # Nothing has tested or approved what a merge makes of rows. So where the base asks for
        # that, they are merged on the branch first.
        turns = (
            into is not None
            and branch is not None
            and run_of(branch) is None
            and verdict.how in ("merge", "conflict")
            and bool(SEEN.intersection(verdict.requires))
        )
        mine = branch is not None and any(
            item.author == session.author
            for item in approvals_of(repository, branch.name, found.head.commit)
        )
        return self._site.page(
            "review.html.j2",
            **page_values(found),
            # An approval is for a branch, and for what it showed when this page was made.
            branch=branch.name if branch is not None else None,
            author=session.author,
            is_mine=mine,
            into=into.name if into is not None else None,
            turns=turns,
            is_stuck=turns and verdict.how == "conflict",
            promotes=into is not None
            and (into.protection or session.rules.protection_of(into.name)) is not None,
        )

    def approve(self, request: Request, form: Form) -> Response:
        """Approve what a review showed, or withdraw that, as `dbt-vcs approve` does."""
        branch, base, at = form.get("branch"), form.get("base"), form.get("at")
        if not branch or not base or not at:
            raise InputError("The page did not say what is approved. Reload the review.")
        with self._site.writing() as session:
            approve(
                self._repository,
                branch,
                author=session.author,
                at=self._repository.resolve(at),
                note=form.get("note", ""),
                withdraw="withdraw" in form,
            )
        back = urlencode({"base": base, "head": form.get("head") or branch})
        return RedirectResponse(f"/review?{back}", 303)


_ROWS: Final = 20
"""Conflicts of a page."""

_COLUMNS: Final = 60
"""Columns that nobody changed, of which a row shows the first."""

_SIDES: Final[Mapping[str, Choice]] = {
    item.value: item for item in Choice if item is not Choice.CUSTOM
}


class ConflictPages:
    """A waiting merge, the conflicts of one relation, and what can be done about them."""

    def __init__(self, site: UiSite) -> None:
        self._site = site
        self._repository = site.repository

    def routes(self) -> list[Route]:
        """Return the pages."""
        self._site.menu.append(("Merges", "/merge"))
        return [
            Route("/merge", self.merge),
            Route("/conflicts", self.conflicts),
            Route("/conflicts/decide", posting(self.decide), methods=["POST"]),
            Route("/conflicts/undo", posting(self.undo), methods=["POST"]),
            Route("/merge/begin", posting(self.begin), methods=["POST"]),
            Route("/merge/continue", posting(self.go_on), methods=["POST"]),
            Route("/merge/abort", posting(self.abort), methods=["POST"]),
        ]

    def merge(self, request: Request) -> Response:
        """Return the page of the merge that waits to go into a branch, or of all that wait."""
        into = request.query_params.get("into")
        waiting = open_merges(self._repository)
        if into is None and len(waiting) == 1:
            into = waiting[0].target
        if into is None:
            return self._site.page("merges.html.j2", merges=waiting)
        return self._merge_page(into)

    def _merge_page(self, into: str, said: str = "", status: int = 200) -> Response:
        report = list_conflicts(self._repository, into)
        found = next((m for m in open_merges(self._repository) if m.target == into), None)
        session = self._site.session()
        return self._site.page(
            "merge.html.j2",
            status=status,
            into=into,
            report=report,
            merge=found,
            unseen=[] if found is None else self._unseen(found, session),
            author=session.author,
            last=None if found is None else last_decision(self._repository, found),
            said=said,
            choices=tuple(_SIDES),
        )

    def _unseen(self, merge: OpenMerge, session: CommandSession) -> list[str]:
        """Return what the target requires that can't have seen what is decided here.

        There is nothing unless the conflicts can be resolved on the merged branch instead.
        """
        target = self._repository.find_branch(merge.target)
        source = named_branch(self._repository, merge.source)
        if target is None or source is None or run_of(source) is not None or merge.base:
            return []
        held = merge.terms.on(target.assuming(session.rules.protection_of(target.name)))
        return [item for item in held.require if item in SEEN]

    def conflicts(self, request: Request) -> Response:
        """Return a part of the conflicts of a relation: the open ones, or with `all` all."""
        given = request.query_params
        return self._conflicts_page(
            asked(request, "into"),
            asked(request, "name"),
            skip=asked_number(given, "skip"),
            is_all="all" in given,
        )

    def _conflicts_page(
        self,
        into: str,
        name: str,
        *,
        skip: int = 0,
        is_all: bool = False,
        said: str = "",
        status: int = 200,
        form: Form | None = None,
    ) -> Response:
        waiting = find_open_merge(self._repository, into)
        table = self._table(waiting, relation_of(name))
        places = [place for place, made in enumerate(table.resolutions) if is_all or made is None]
        # What was on a page may have been decided.
        skip = min(skip, max(len(places) - 1, 0) // _ROWS * _ROWS)
        shown = places[skip : skip + _ROWS]
        return self._site.page(
            "conflicts.html.j2",
            status=status,
            into=into,
            name=name,
            merge=waiting,
            total=len(table.rows),
            open=table.open,
            left=conflicts_left(self._repository, waiting),
            rows=conflict_rows(table, shown),
            places={column: place for place, column in enumerate(table.columns)},
            free=list(table.results),
            most=_COLUMNS,
            sides=tuple(SIDES),
            choices=tuple(_SIDES) if table.key else ("ours", "theirs", "base"),
            last=last_decision(self._repository, waiting),
            skip=skip,
            is_all=is_all,
            **paging(skip, _ROWS, has_more=skip + _ROWS < len(places)),
            said=said,
            # What was typed for the row that was refused.
            sent=form if form is not None else Form(),
        )

    def _table(self, waiting: OpenMerge, name: RelationName) -> ConflictTable:
        tables = tables_of(self._repository, waiting)
        if name not in tables:
            raise NotFoundError(
                f"{name} has no rows in conflict; expected one of: "
                f"{', '.join(sorted(map(str, tables))) or 'none'}."
            )
        return tables[name]

    def decide(self, request: Request, form: Form) -> Response:
        """Record a decision about a row, a relation, or all of a merge; then show what is left."""
        into, name = _into(form), form.get("name")
        if name is None:
            raise InputError("The page did not say what is decided. Reload it.")
        is_all, skip = "all" in form, asked_number(form, "skip")
        has_rows = "skip" in form
        try:
            chosen = self._chosen(into, name, form)
            # A row has its own mark, so that two people can decide about one table at once.
            seen = None if chosen.rows else _seen(form)
            with self._site.writing() as session:
                done = resolve(
                    self._repository,
                    into,
                    name or None,
                    chosen,
                    author=session.author,
                    seen=seen,
                )
            said = f"Decided {done.count:,}. Some are left open. {done.why}" if done.why else ""
            status = 200
        except (InputError, ConflictError) as error:
            said, status = str(error), 409 if isinstance(error, ConflictError) else 400
        if has_rows and said:
            # On the page itself, where the choice can be mended.
            return self._conflicts_page(
                into, name, skip=skip, is_all=is_all, said=said, status=status, form=form
            )
        if said:
            return self._merge_page(into, said, status)
        if not has_rows:
            return _back("/merge", into=into)
        return _back("/conflicts", into=into, name=name, skip=skip, all="1" if is_all else None)

    def _chosen(self, into: str, name: str, form: Form) -> RowChoice:
        take = form.get("take", "")
        if "place" not in form:
            if take == "order":
                return RowChoice(choice=_order(form.get("order", "")), by=form.get("by", ""))
            if take == "column":
                cells = {form.get("column", ""): cell_of(form.get("cell", ""))}
                return RowChoice(cells=cells)
            return RowChoice(choice=Choice.of(form.get("side", take)))
        rows = {asked_number(form, "place"): form.get("mark", "")}
        if take != "cells":
            return RowChoice(choice=Choice.of(take), rows=rows)
        table = self._table(find_open_merge(self._repository, into), relation_of(name))
        return _by_cells(table, rows, form)

    def undo(self, request: Request, form: Form) -> Response:
        """Take back the last decision that the page showed."""
        into, seen = _into(form), _seen(form)
        try:
            with self._site.writing() as session:
                undo_decision(self._repository, into, author=session.author, seen=seen)
        except (InputError, ConflictError) as error:
            return self._merge_page(into, str(error), 409)
        if name := form.get("name"):
            return _back("/conflicts", into=into, name=name)
        return _back("/merge", into=into)

    def begin(self, request: Request, form: Form) -> Response:
        """Merge what a review showed into its base, or promote it; conflicts are then shown."""
        base, head, at = form.get("base"), form.get("head"), form.get("at")
        if not base or not head or not at:
            raise InputError("The page did not say what is merged. Reload the review.")
        commit = resolve_source(self._repository, head).commit
        if commit != self._repository.resolve(at):
            raise ConflictError(
                f"{head!r} moved after the review was made. Nothing was changed. Look at it again."
            )
        with self._site.writing() as session:
            terms = Terms(promotes="promote" in form)
            before = self._repository.find_branch(PREFIX + base)
            try:
                # It may move again until it is merged, and nobody has looked at that.
                wanted = replace(merge_request(session, base, terms), commit=commit)
                done = noted_merge(session, head, base, wanted)
            except ConflictError:
                kept = self._repository.find_branch(PREFIX + base)
                # Refused for another reason, it leaves an earlier merge that waits as it was.
                if kept is None or kept == before:
                    raise
                return _back("/merge", into=base)
        return _back("/commit", at=str(done.after or base))

    def go_on(self, request: Request, form: Form) -> Response:
        """Continue a merge, as `dbt-vcs merge --continue` does."""
        into, seen = _into(form), _seen(form)
        try:
            with self._site.writing() as session:
                done = noted_continuation(session, into, seen)
        except (InputError, ConflictError) as error:
            # New conflicts are kept with the others, and tests may be missing.
            return self._merge_page(into, str(error), 409)
        return _back("/commit", at=str(done.after or into))

    def abort(self, request: Request, form: Form) -> Response:
        """Abort a merge; its target is not changed."""
        into, seen = _into(form), _seen(form)
        try:
            with self._site.writing() as session:
                abort_merge(self._repository, into, author=session.author, seen=seen)
        except ConflictError as error:
            return self._merge_page(into, str(error), 409)
        return _back("/merge", into=into)


def _into(form: Form) -> str:
    into = form.get("into")
    if not into:
        raise InputError("The page did not say which merge it is about. Reload it.")
    return into


def _seen(form: Form) -> CommitId:
    seen = form.get("seen")
    if not seen:
        raise InputError("The page did not say what it showed of the merge. Reload it.")
    return CommitId(seen)


def _back(path: str, **values: str | int | None) -> Response:
    given = {name: value for name, value in values.items() if value is not None}
    return RedirectResponse(f"{path}?{urlencode(given)}", 303)


def _order(text: str) -> Order:
    known = {item.value: item for item in Order}
    if text not in known:
        raise InputError(f"Found {text[:40]!r} as a rule; expected one of {', '.join(known)}.")
    return known[text]


def _by_cells(table: ConflictTable, rows: Mapping[int, str], form: Form) -> RowChoice:
    """Return the choice of a row's cells and typed values; columns are named by their place."""
    cells: dict[str, Any] = {}
    values: dict[str, Given] = {}
    for place, column in enumerate(table.columns):
        word = form.get(f"cell-{place}", "")
        # Browsers send line breaks as two characters.
        text = form.get(f"value-{place}", "").replace("\r\n", "\n")
        # What somebody typed counts, also where a side was chosen before they came.
        if f"null-{place}" in form:
            values[column] = pa.scalar(None)
        elif text or word == "own":
            values[column] = text
        elif word and word != "keep":
            cells[column] = cell_of(word)
    if not (cells or values):
        raise InputError("No cell of the row is chosen. Choose one, or take a whole row.")
    # Where one side deleted the row, the choice begins with the row of the other one.
    shown = conflict_rows(table, [place for place in rows if place < len(table.rows)])
    present = [side for row in shown for side in (Choice.OURS, Choice.THEIRS) if row.has[side]]
    start = present[0] if len(present) == 1 else None
    return RowChoice(choice=start, cells=cells, values=values, rows=rows)
