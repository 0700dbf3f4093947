"""The pages of `dbt-vcs ui` on branches and commits: what other verbs report, in a browser."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dbt.adapters.vcs.commands.branch import BranchSummary, list_branches
from dbt.adapters.vcs.commands.conflicts import list_open_merges
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.runs import RunSummary, list_runs
from dbt.adapters.vcs.commands.show import show_commit
from dbt.adapters.vcs.commands.status import DONE_WITH
from dbt.adapters.vcs.commands.ui_site import UiSite, asked, asked_number, paging
from dbt.adapters.vcs.core.errors import DamagedError, InputError
from dbt.adapters.vcs.core.ids import CommitId
from dbt.adapters.vcs.core.origins.staleness import stale_tables
from dbt.adapters.vcs.core.store.blobs import each

if TYPE_CHECKING:
    from dbt.adapters.vcs.changes.merges.project_rules import Rules


_BRANCHES: Final = 100
"""Branches of a page."""

_TAGS: Final = 200
_COMMITS: Final = 200
"""Commits of a page."""

_KNOWN: Final = 10_000
"""Commits whose number of stale tables is kept."""


class HistoryPages:
    """The pages of branches, the log and a commit; none changes anything."""

    def __init__(self, site: UiSite) -> None:
        self._site = site
        self._repository = site.repository
        # A commit's tables never change.
        self._stale_of = lru_cache(_KNOWN)(self._count_stale)

    def routes(self) -> list[Route]:
        """Return the pages, and put those to begin with into the menu."""
        self._site.menu += [("Branches", "/"), ("Log", "/log")]
        return [
            Route("/", self.branches),
            Route("/log", self.log),
            Route("/commit", self.commit),
        ]

    def log(self, request: Request) -> Response:
        """Return the commits of a revision, or of all branches, as a graph."""
        at = request.query_params.get("at")
        skip = asked_number(request.query_params, "skip")
        # From the beginning each time: where a line is depends on all commits before.
        found = list(islice(read_log(self._repository, at), skip + _COMMITS + 1))
        lines = list(commit_lines((item.id, item.parents) for item in found))
        shown = slice(skip, skip + _COMMITS)
        drawings = graph_drawings(lines[shown])
        return self._site.page(
            "log.html.j2",
            at=at,
            commits=list(zip(found[shown], drawings, strict=True)),
            **paging(skip, _COMMITS, has_more=len(found) > skip + _COMMITS),
        )

    def commit(self, request: Request) -> Response:
        """Return the page of one commit; of a run's branch, what the whole run changed."""
        at = asked(request, "at")
        found = show_commit(self._repository, at)
        return self._site.page("commit.html.j2", at=at, commit=found)

    def branches(self, request: Request) -> Response:
        """Return the page of all branches, with what waits or failed."""
        repository = self._repository
        told: list[str] = []

        def tell(error: DamagedError) -> None:
            told.append(str(error))

        skip = asked_number(request.query_params, "skip")
        last = skip + _BRANCHES + 1
        found = list(islice(list_branches(repository, told.append, first=last), skip, last))
        runs = [run for run in list_runs(repository) if run.status not in DONE_WITH]
        merges = list_open_merges(repository, tell)
        tags = repository.tags(tell)
        return self._site.page(
            "branches.html.j2",
            branches=self._listed(found[:_BRANCHES], runs, {item.target for item in merges}, told),
            default=repository.default_branch,
            **paging(skip, _BRANCHES, has_more=len(found) > _BRANCHES),
            runs=runs,
            merges=merges,
            tags=tags[:_TAGS],
            more_tags=max(len(tags) - _TAGS, 0),
            told=told,
        )

    def _listed(
        self,
        branches: Sequence[BranchSummary],
        runs: Sequence[RunSummary],
        waiting: Collection[str],
        told: list[str],
    ) -> list[dict[str, Any]]:
        session = self._site.session()
        try:
            rules = session.rules if session.target else None
        except InputError as error:
            # The branches can be shown all the same, and whoever looks should know.
            told.append(str(error))
            rules = None
        counts = each(self._stale_of, [item.head for item in branches])
        return [
            {
                "branch": item,
                "protection": _protection(item, rules),
                "runs": [run for run in runs if run.target == item.name],
                # A merge into it waits for its conflicts.
                "waits": item.name in waiting,
                "stale": count,
            }
            for item, count in zip(branches, counts, strict=True)
        ]

    def _count_stale(self, commit: CommitId) -> int | None:
        tree = self._repository.tree(commit)
        damaged: list[str] = []
        found = stale_tables(self._repository, tree, lambda name, _: damaged.append(str(name)))
        return None if damaged else len(found)


def _protection(branch: BranchSummary, rules: Rules | None) -> tuple[str, ...] | None:
    """Return what a promotion needs, by itself or by the rules; None if any change is taken."""
    said = None if rules is None else rules.protection_of(branch.name)
    if said is not None:
        return said.require
    return branch.require if branch.is_protected else None


_WIDE: Final = 14
_HIGH: Final = 46
_COLOURS: Final = 6
_DRAWN: Final = 24
"""Columns that are drawn; further ones share the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLine:
    """Where a commit is drawn, and what passes it.

    Attributes:
        column: Its column, from 0.
        passing: Columns of lines that come from above and go on below.
        joining: Columns of lines that come from above and end at the commit.
        leaving: Columns in which lines go on from the commit to its parents.
    """

    column: int
    passing: tuple[int, ...]
    joining: tuple[int, ...]
    leaving: tuple[int, ...]


def commit_lines(
    commits: Iterable[tuple[CommitId, Sequence[CommitId]]],
) -> Iterator[CommitLine]:
    """Yield the line of each commit, given with its parents; children come before parents.

    A column belongs to the commit that its line leads to, so that lines are straight except where
    they join or leave. The first parent takes over the column of its child, as in git's log.
    """
    columns: list[CommitId | None] = []
    for id, parents in commits:
        joining = tuple(place for place, wanted in enumerate(columns) if wanted == id)
        column = joining[0] if joining else _free(columns)
        for place in joining:
            columns[place] = None
        passing = tuple(place for place, wanted in enumerate(columns) if wanted is not None)
        leaving = []
        for number, parent in enumerate(parents):
            if parent in columns:
                leaving.append(columns.index(parent))
                continue
            place = column if number == 0 else _free(columns)
            columns[place] = parent
            leaving.append(place)
        yield CommitLine(column=column, passing=passing, joining=joining, leaving=tuple(leaving))


def _free(columns: list[CommitId | None]) -> int:
    if None not in columns:
        columns.append(None)
    return columns.index(None)


def graph_drawings(lines: Sequence[CommitLine]) -> list[Markup]:
    """Return the drawing of each line, all of one size, so that lines below each other meet."""
    most = max(
        (place for line in lines for place in (line.column, *line.passing, *line.leaving)),
        default=0,
    )
    wide = (min(most, _DRAWN - 1) + 1) * _WIDE + 4
    return [_drawn(line, wide) for line in lines]


def _drawn(line: CommitLine, wide: int) -> Markup:
    middle, at = _HIGH / 2, _place(line.column)
    paths = [_path(place, f"M{_place(place)} 0V{_HIGH}") for place in line.passing]
    # In the colour of the outer column: that of the line which joins or leaves.
    paths += [
        _path(max(place, line.column), _curve(_place(place), 0, at, middle))
        for place in line.joining
    ]
    paths += [
        _path(max(place, line.column), _curve(at, middle, _place(place), _HIGH))
        for place in line.leaving
    ]
    dot = Markup('<circle class="c{}" cx="{}" cy="{:g}" r="4.5"/>').format(
        line.column % _COLOURS, at, middle
    )
    return Markup(
        '<svg class="graph" viewBox="0 0 {w} {h}" width="{w}" height="{h}" aria-hidden="true">'
        "{paths}{dot}</svg>"
    ).format(w=wide, h=_HIGH, paths=Markup("").join(paths), dot=dot)


def _place(column: int) -> int:
    return min(column, _DRAWN - 1) * _WIDE + 9


def _curve(x: int, y: float, to: int, down: float) -> str:
    half = (y + down) / 2
    return f"M{x} {y:g}C{x} {half:g} {to} {half:g} {to} {down:g}"


def _path(column: int, shape: str) -> Markup:
    return Markup('<path class="c{}" d="{}"/>').format(column % _COLOURS, shape)
