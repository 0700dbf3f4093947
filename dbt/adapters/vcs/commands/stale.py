"""`dbt-vcs stale`: tables made from other versions than a revision shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from dbt.adapters.vcs.commands.layout import Block, Span, entry, line
from dbt.adapters.vcs.commands.session import CommandSession
from dbt.adapters.vcs.commands.verb import verb
from dbt.adapters.vcs.core.ids import SnapshotId, node_name
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
    names = [node_name(item.node) for item in stale if item.node]
    return " ".join(names), [item.relation for item in stale if not item.node]


@verb()
def stale_command(
    session: CommandSession,
    revision: str | None = None,
    *,
    select: Annotated[bool, "Print what dbt's --select takes to build them."] = False,
) -> None:
    """List tables that were made from other versions than REVISION shows.

    Each comes after those that it was made from. REVISION defaults to the branch in the dbt
    profile, else the default branch.
    """
    at = revision or session.shown
    damaged: dict[str, str] = {}
    found = list_stale(
        session.repository, at, lambda name, error: damaged.update({str(name): str(error)})
    )
    session.warn(f"Whether {name} is stale isn't known. {why}" for name, why in damaged.items())
    if not select:
        session.show(found, _stale_text(found, at))
        return
    names, others = selection(found)
    session.show(names, [line(names)])
    # On stderr, so that the selection can be passed on to dbt.
    session.warn(f"{name} is stale, and no node of dbt made it." for name in others)


def _stale_text(stale: Sequence[StaleTable], revision: str) -> Iterator[Block]:
    if not stale:
        yield line(f"Every table on {revision} was made from what {revision} shows.")
    for item in stale:
        node = Span(f"  {item.node}", "faint") if item.node else ""
        yield entry(Span(item.relation, "name"), node)
        for moved in item.moved:
            now = "is gone" if moved.shown is None else f"is {moved.shown[:12]} now"
            yield line(f"  was made from {moved.relation} {moved.read[:12]}, which {now}")
        for relation in item.through:
            yield line(f"  was made from {relation}, which is stale")
