"""Suspects: a commit that may have broken a condition, with its run and its models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from dbt.adapters.vcs.core.ids import CommitId, datetime_of
from dbt.adapters.vcs.core.model import Commit, Entry, RelationName, TableEntry
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.verbs.bisecting.looks import Looks


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A relation that the condition reads, and that a commit changed.

    Attributes:
        relation: `schema.identifier`.
        node: dbt's unique id of what made the version; None if no node did, as for a drop.
        before: The version before; None if there was none.
        after: The version after; None if there is none.
    """

    relation: str
    node: str | None
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A commit that may be the first bad one.

    Attributes:
        commit: The commit.
        parents: Its parents.
        summary: First line of its message.
        author: Who made it.
        committed_at: When.
        invocation: Id of the dbt run that it publishes; None if it publishes none.
        command: dbt's sub-command of the run, or None.
        steps: The step of the run that broke it, several if that is open, none if steps are gone
            or none of them broke it by itself.
        nodes: dbt's unique ids of the nodes that changed what the condition reads, in these steps
            or else in the commit.
        changed: The relations that the condition reads and that these steps, or else the commit,
            changed; for a merge relative to its first parent.
    """

    commit: CommitId
    parents: tuple[CommitId, ...]
    summary: str
    author: str
    committed_at: datetime
    invocation: str | None
    command: str | None
    steps: tuple[CommitId, ...]
    nodes: tuple[str, ...]
    changed: tuple[Changed, ...]


def suspect_of(
    repository: Repository, looks: Looks, id: CommitId, steps: Sequence[CommitId]
) -> Suspect:
    """Return a commit as a suspect; `steps` are the steps of its run that may have broken it."""
    commit = repository.objects.commit(id)
    own = _nodes_of(commit)
    changed: dict[Changed, None] = {}
    for step in reversed(steps):
        made = repository.objects.commit(step)
        changed.update(dict.fromkeys(_changes(repository, looks, step, own | _nodes_of(made))))
    if not steps:
        changed.update(dict.fromkeys(_changes(repository, looks, id, own)))
    nodes = dict.fromkeys(item.node for item in changed if item.node is not None)
    return Suspect(
        commit=id,
        parents=commit.parents,
        summary=commit.summary,
        author=commit.author,
        committed_at=datetime_of(commit.committed_at),
        invocation=commit.run.invocation if commit.run else None,
        command=commit.run.command if commit.run else None,
        steps=tuple(steps),
        nodes=tuple(nodes),
        changed=tuple(changed),
    )


def _nodes_of(commit: Commit) -> dict[str, str]:
    """Return the nodes of the run that a commit records, by the relation that each built."""
    nodes = commit.run.nodes if commit.run else ()
    return {node.relation: node.id for node in nodes if node.relation is not None}


def _changes(
    repository: Repository, looks: Looks, id: CommitId, nodes: dict[str, str]
) -> Iterator[Changed]:
    """Yield what a commit changed of what the condition reads, by name."""
    parents = repository.objects.commit(id).parents
    new, old = looks.versions(id), looks.versions(parents[0]) if parents else None
    after = dict(new.entries) if new is not None else {}
    before = dict(old.entries) if old is not None else {}
    for name in sorted({*after, *before}):
        was, now = before.get(name), after.get(name)
        if was != now:
            yield Changed(
                relation=str(name),
                node=_maker(repository, name, now, nodes),
                before=was.version if was else None,
                after=now.version if now else None,
            )


def _maker(
    repository: Repository, name: RelationName, entry: Entry | None, nodes: dict[str, str]
) -> str | None:
    """Return the node that made a version: the run's record says so, else the version's own."""
    if isinstance(entry, TableEntry):
        node = repository.objects.snapshot(entry.snapshot).origin.node
        return nodes.get(str(name)) if node is None else node
    return nodes.get(str(name))
