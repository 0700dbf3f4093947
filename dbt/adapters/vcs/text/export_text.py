"""Text about exports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dbt.adapters.vcs.layout.styled import Span, counted, line

if TYPE_CHECKING:
    from dbt.adapters.vcs.iceberg.branch_export import BranchExport
    from dbt.adapters.vcs.layout.styled import Block


def export_text(report: BranchExport) -> Iterator[Block]:
    """Yield what an export did."""
    for relation, why in report.refused.items():
        yield line("Not exported: ", Span(relation, "name"), f". {why}")
    for relation in report.removed:
        yield line("Removed ", Span(relation, "name"), " from the export.")
    tables = counted(len(report.written), "table") if report.written else "no tables"
    yield line(
        f"Exported {tables} of ",
        Span(report.branch, "name"),
        f" @ {report.commit[:12]} to {report.location}",
    )
