"""Evidence: which tests read which versions of relations, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbt.adapters.vcs.core.errors import ConflictError
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.model import Entry, NodeRun, RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import TreeReader
from dbt.adapters.vcs.workspace.run_branch import commits_of, runs

_GOOD = frozenset({"pass", "warn"})
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """The last result of one test.

    Attributes:
        test: dbt's unique id.
        is_good: True if the test passed or warned.
        saw: The versions that it read, by `schema.identifier`; several where it compared them.
        at: When it ran.
    """

    test: str
    is_good: bool
    saw: dict[str, set[str]]
    at: Micros


def findings(
    repository: Repository, source: CommitId, since: CommitId
) -> dict[str, list[Finding]]:
    """Return the findings of every test by its id, oldest first.

    They come from the commits of `source` since it forked from `since`, and from all run
    branches.
    """
    found: dict[str, list[Finding]] = {}
    for node, at in _records(repository, source, since):
        if node.inputs:
            saw: dict[str, set[str]] = {}
            for item in node.inputs:
                saw.setdefault(item.relation, set()).add(item.version)
            good = node.status in _GOOD
            found.setdefault(node.id, []).append(Finding(node.id, good, saw, at))
    for items in found.values():
        items.sort(key=lambda item: item.at)
    return found


def check_tested(
    repository: Repository, source: CommitId, target: CommitId, changed: Iterable[RelationName]
) -> None:
    """Check that tests passed on exactly the versions to be published.

    Every changed relation needs a test that read its version in `source` and passed the last
    time. Every test that ever read the relation must have read that version and passed.
    Findings about other versions, such as those on other branches, are ignored.

    Raises:
        ConflictError: The evidence is missing; the message names the relations and the tests.
    """
    tree = repository.tree(source)
    wanted = {str(name) for name in changed if tree.entry(name) is not None}
    failed: list[str] = []
    stale: list[str] = []
    seen: set[str] = set()
    for test, items in findings(repository, source, target).items():
        current = [item for item in items if _is_current(tree, item)]
        if current and current[-1].is_good:
            seen.update(current[-1].saw)
        elif current:
            failed.append(test)
        elif any(wanted & item.saw.keys() for item in items):
            stale.append(test)
    missing = sorted(wanted - seen)
    problems = [
        *([f"failed: {_joined(failed)}"] if failed else []),
        *([f"saw other versions: {_joined(stale)}"] if stale else []),
        *([f"no test has seen: {_joined(missing)}"] if missing else []),
    ]
    if problems:
        raise ConflictError(
            f"Tests are required, and not every one passed on what is to be published ("
            f"{'; '.join(problems)}). Nothing was changed. Run dbt test on the branch, then "
            "promote it again."
        )


def _is_current(tree: TreeReader, item: Finding) -> bool:
    """Return whether a test read every relation in its current version, external files aside."""
    ids = {name: _id(tree, name) for name in item.saw}
    known = [name for name, id in ids.items() if id is not None]
    return bool(known) and all(ids[name] in item.saw[name] for name in known)


def _records(
    repository: Repository, source: CommitId, since: CommitId
) -> Iterator[tuple[NodeRun, Micros]]:
    base = repository.merge_base(source, since)
    shared = repository.objects.commit(base).committed_at if base else -1
    for _, commit in repository.log(source):
        if commit.committed_at <= shared:
            break
        for node in commit.run.nodes if commit.run else ():
            yield node, commit.committed_at
    for run in runs(repository):
        for commit in commits_of(repository, run):
            for node in commit.run.nodes if commit.run else ():
                yield node, commit.committed_at


def _id(tree: TreeReader, name: str) -> str | None:
    schema, _, identifier = name.partition(".")
    entry: Entry | None = tree.entry(RelationName(schema, identifier))
    if entry is None:
        return None
    return entry.version


def _joined(items: list[str]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(sorted(items)[:_SHOWN]) + more
