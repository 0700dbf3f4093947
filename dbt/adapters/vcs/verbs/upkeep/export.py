"""Export: let other engines read a branch's tables from files, without a server."""

from __future__ import annotations

from collections.abc import Callable

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.branch_export import BranchExport, export_branch
from dbt.adapters.vcs.iceberg.metadata_place import place_of


def export(repository: Repository, branch: str, *, everything: bool = False) -> BranchExport:
    """Write Iceberg metadata of the tables of a branch that changed since the last export.

    Raises what `export_branch` raises.
    """
    return export_branch(repository, branch, place=place_of(repository), everything=everything)


def export_after(repository: Repository, branch: str, warn: Callable[[str], object]) -> None:
    """Export a branch that moved; what can't be exported is a warning.

    The move is done, so nothing that goes wrong here may look as if it had not been.
    """
    again = f"Export again: dbt-vcs export --branch {branch}"
    try:
        report = export(repository, branch)
    except VcsError as error:
        warn(f"{branch} moved, and other engines don't see it yet: {error} {again}")
    except Exception as error:
        kind = type(error).__name__
        warn(f"{branch} moved, and other engines don't see it yet: {kind}: {error}. {again}")
    else:
        for relation, why in report.refused.items():
            warn(f"{relation} is not exported: {why}")
