"""Stale: tables of a revision that were made from other versions than it shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dbt.adapters.vcs.core.ids import SnapshotId
from dbt.adapters.vcs.core.origins.staleness import OnDamage, stale_tables
from dbt.adapters.vcs.core.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedInput:
    """An input that isn't what the revision shows.

    Attributes:
        relation: `schema.identifier`.
        read: The version that was read.
        shown: The version that the revision shows; None if it shows none.
    """

    relation: str
    read: str
    shown: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleTable:
    """A stale table.

    Attributes:
        relation: `schema.identifier`.
        snapshot: Its version.
        node: dbt's unique id of the node that made it; None if a statement of another kind did.
        moved: Its inputs that are others now.
        through: Its inputs, `schema.identifier`, that are stale themselves.
    """

    relation: str
    snapshot: SnapshotId
    node: str | None
    moved: tuple[MovedInput, ...]
    through: tuple[str, ...]


def list_stale(
    repository: Repository, revision: str, on_damage: OnDamage | None = None
) -> list[StaleTable]:
    """Return the stale tables of a revision, each after those that it was made from.

    Raises:
        NotFoundError: There is no such revision.
        DamagedError: A table can't be read, and there is no `on_damage`.
    """
    tree = repository.tree(repository.resolve(revision))
    return [
        StaleTable(
            relation=str(item.relation),
            snapshot=item.snapshot,
            node=repository.objects.snapshot(item.snapshot).origin.node,
            moved=tuple(
                MovedInput(relation=str(moved.relation), read=moved.read, shown=moved.shown)
                for moved in item.moved
            ),
            through=tuple(map(str, item.through)),
        )
        for item in stale_tables(repository, tree, on_damage)
    ]


def selection(stale: Sequence[StaleTable]) -> tuple[str, list[str]]:
    """Return what dbt's `--select` takes to build stale tables again.

    Returns:
        The names of dbt's nodes, separated by spaces, and the tables that no node made.
    """
    names = [item.node.rpartition(".")[2] for item in stale if item.node]
    return " ".join(names), [item.relation for item in stale if not item.node]
