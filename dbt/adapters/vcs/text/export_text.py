"""Text about exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Span, counted, line

if TYPE_CHECKING:
    from dbt.adapters.vcs.iceberg.branch_export import BranchExport, Registration
    from dbt.adapters.vcs.layout.styled import Block


def export_text(report: BranchExport) -> Iterator[Block]:
    """Yield what an export did."""
    for relation, why in report.refused.items():
        yield line("Not exported: ", Span(relation, "name"), f". {why}")
    for relation in report.removed:
        yield line("Removed ", Span(relation, "name"), " from the export.")
    tables = counted(len(report.written), "table") if report.written else "no tables"
    views = f" and {counted(len(report.views), 'view')}" if report.views else ""
    yield line(
        f"Exported {tables}{views} of ",
        Span(report.branch, "name"),
        f" @ {report.commit[:12]} to {report.location}",
    )
    if report.registration is not None:
        yield from _registered(report.registration)


def _registered(done: Registration) -> Iterator[Block]:
    for relation, why in done.refused.items():
        yield line("Not registered: ", Span(relation, "name"), f". {why}")
    for relation in done.dropped:
        yield line("Dropped ", Span(relation, "name"), f" from the catalog {done.catalog}.")
    if not done.has_views:
        yield line(f"The catalog {done.catalog} can't have views.")
    tables = counted(len(done.registered), "relation") if done.registered else "nothing"
    yield line(f"Registered {tables} in the catalog ", Span(done.catalog, "name"))
