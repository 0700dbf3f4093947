"""Export: let other engines read a branch's tables from files, without a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dbt.adapters.vcs.core.errors import VcsError
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.iceberg.branch_export import BranchExport, export_branch
from dbt.adapters.vcs.iceberg.metadata_place import place_of
from dbt.adapters.vcs.merges.export_rules import ExportRule
from dbt.adapters.vcs.verbs.upkeep.catalog_registration import register_exported


def export(
    repository: Repository,
    branch: str,
    rule: ExportRule | None = None,
    *,
    everything: bool = False,
    format_version: int | None = None,
) -> BranchExport:
    """Write Iceberg metadata of the tables of a branch that changed since the last export.

    If the project's rule names a catalog, the tables are registered there afterwards.

    Args:
        repository: The repository.
        branch: The branch.
        rule: What the project says of it; None if it says nothing.
        everything: Write tables that did not change, too.
        format_version: Version of Iceberg's format; None for the rule's.

    Raises what `export_branch` and `register_exported` raise.
    """
    place = place_of(repository)
    rule = rule or ExportRule(pattern=branch)
    report = export_branch(
        repository,
        branch,
        place=place,
        everything=everything,
        format_version=format_version or rule.format_version,
    )
    if rule.catalog is None:
        return report
    try:
        done = register_exported(
            repository, branch, rule.catalog, place=place, everything=everything
        )
    except VcsError as error:
        raise type(error)(f"{error} The files of the export are written all the same.") from error
    return replace(report, registration=done)


def export_after(
    repository: Repository, branch: str, rule: ExportRule, warn: Callable[[str], object]
) -> None:
    """Export a branch that moved; what can't be exported is a warning.

    The move is done, so nothing that goes wrong here may look as if it had not been.
    """
    again = f"Export again: dbt-vcs export --branch {branch}"
    try:
        report = export(repository, branch, rule)
    except VcsError as error:
        warn(f"{branch} moved, and other engines don't see it yet: {error} {again}")
    except Exception as error:
        kind = type(error).__name__
        warn(f"{branch} moved, and other engines don't see it yet: {kind}: {error}. {again}")
    else:
        for relation, why in report.refused.items():
            warn(f"{relation} is not exported: {why}")
        if report.registration is not None:
            for relation, why in report.registration.refused.items():
                warn(f"{relation} is not registered in {report.registration.catalog}: {why}")
