"""Text about restores, reverts, clones, lineage and blame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from dbt.adapters.vcs.core.ids import short_sha
from dbt.adapters.vcs.layout.styled import (
    Grid,
    Span,
    age,
    counted,
    entry,
    line,
    short,
)
from dbt.adapters.vcs.text.change_text import changes_text

if TYPE_CHECKING:
    from dbt.adapters.vcs.core.ids import CommitId
    from dbt.adapters.vcs.layout.styled import (
        Block,
        Style,
    )
    from dbt.adapters.vcs.verbs.changing.clone import CloneReport
    from dbt.adapters.vcs.verbs.changing.restore import RestoreReport
    from dbt.adapters.vcs.verbs.changing.revert import RevertReport
    from dbt.adapters.vcs.verbs.reading.blame import BlameReport
    from dbt.adapters.vcs.verbs.reading.lineage_tree import LineageNode


def branch_undeleted_text(name: str, head: CommitId) -> Iterator[Block]:
    """Yield the line for a deleted branch that was restored."""
    yield line("Restored branch ", Span(name, "name"), " at ", short(head), ".")


def restore_text(report: RestoreReport) -> Iterator[Block]:
    """Yield what a restore did, and which commits it undid only in part."""
    what = Span(report.relation or "all", "name")
    where = Span(report.branch, "name")
    to = (
        f" to {report.revision}"
        if report.revision
        else " to its last version before it was dropped"
    )
    if not report.changes:
        yield line(
            "Nothing to restore: ", what, " on ", where, f" is the same as at {report.revision}."
        )
        return
    verb = "Would restore " if report.dry_run else "Restored "
    moved = () if report.dry_run else (": ", short(report.before), " -> ", short(report.after))
    yield line(verb, what, " on ", where, f"{to}", *moved)
    yield from changes_text(report.changes)
    for apart in report.apart:
        yield line(
            Span("Warning: ", "warn"),
            short(apart.commit),
            f" ({apart.summary}) changed {report.relation} together with "
            f"{', '.join(apart.others)}, which were not restored.",
        )
    if report.apart:
        yield line(f"To restore all of them: dbt-vcs restore --all --to {report.revision}")


def revert_text(report: RevertReport) -> Iterator[Block]:
    """Yield what a revert did."""
    where = Span(report.branch, "name")
    if report.before == report.after:
        yield line(
            "Nothing to revert: ", where, " has none of the changes of ", short(report.commit), "."
        )
        return
    yield line(
        "Reverted ",
        short(report.commit),
        " on ",
        where,
        ": ",
        short(report.before),
        " -> ",
        short(report.after),
    )
    yield from changes_text(report.changes)


def clone_text(report: CloneReport) -> Iterator[Block]:
    """Yield what a clone did."""
    at = f" at {report.at}" if report.at else ""
    yield line(
        "Cloned ",
        Span(report.source, "name"),
        f"{at} to ",
        Span(report.target, "name"),
        f" on {report.branch}: {counted(report.rows, 'row')}, nothing copied. ",
        short(report.before),
        " -> ",
        short(report.after),
    )


def lineage_text(node: LineageNode, now: datetime, *, forward: bool) -> Iterator[Block]:
    """Yield a lineage as a tree, with the requested version first."""
    yield from _node_text(node, now, "")
    if not node.next:
        what = "No version on this branch was built from it." if forward else "It read nothing."
        yield line(f"  {what}")


def blame_text(report: BlameReport, now: datetime) -> Iterator[Block]:
    """Yield the commit that last changed a row."""
    key = ", ".join(f"{column}={value}" for column, value in report.key.items())
    yield entry(
        short(report.commit),
        f" {report.how} {key} of ",
        Span(report.relation, "name"),
        f": {report.summary}",
        Span(f"  {report.author}, {age(report.committed_at, now)}", "faint"),
        gives=3,
    )
    if report.node or report.invocation:
        yield entry(f"  by {report.node or 'a statement'} of run {report.invocation or '-'}")
    if report.before is not None or report.after is not None:
        yield _blamed_rows(report)


def _blamed_rows(report: BlameReport) -> Grid:
    """Return the row before (-) and after (+); the key and the changed values come first."""
    sides: tuple[tuple[str, Mapping[str, str] | None, Style], ...] = (
        ("-", report.before, "bad"),
        ("+", report.after, "good"),
    )
    there = [(sign, row, style) for sign, row, style in sides if row is not None]
    heads = tuple(dict.fromkeys(name for _, row, _ in there for name in row))
    changed = {name for name in heads if len({row.get(name) for _, row, _ in there}) > 1}
    known = {name.lower(): name for name in heads}
    return Grid(
        heads=("", *heads),
        rows=(
            (
                Span(sign, style),
                *(Span(row.get(name, ""), style, name in changed) for name in heads),
            )
            for sign, row, style in there
        ),
        first=("", *(known.get(name.lower(), name) for name in report.key)),
    )


def _node_text(node: LineageNode, now: datetime, indent: str) -> Iterator[Block]:
    facts = [
        fact
        for fact in (
            node.node,
            f"sql {node.sql_sha256[:12]}" if node.sql_sha256 else "",
            f"git {short_sha(node.git_sha)}" if node.git_sha else "",
            f"run {node.invocation}" if node.invocation else "",
        )
        if fact
    ]
    when = f"  {age(node.committed_at, now)}" if node.committed_at else ""
    version = f" {node.version[:12]}" if node.version else ""
    rows = f", {counted(node.rows, 'row')}" if node.rows is not None else ""
    kind = f" ({node.operation or node.kind}{rows})"
    commit = (" in ", short(node.commit)) if node.commit else ()
    yield entry(
        indent,
        Span(node.relation, "name"),
        Span(version, "commit"),
        kind,
        *commit,
        Span(when, "faint"),
    )
    if facts:
        yield entry(f"{indent}  {', '.join(facts)}")
    for below in node.next:
        yield from _node_text(below, now, f"{indent}    ")
