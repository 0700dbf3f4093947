"""Run branches: the isolated branch of one dbt invocation, its outcome, and what its tests saw."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import msgspec

from dbt.adapters.vcs.core.branches import Branch
from dbt.adapters.vcs.core.errors import ConflictError, InputError, NotFoundError, listed
from dbt.adapters.vcs.core.ids import CommitId, Micros
from dbt.adapters.vcs.core.model import Commit, NodeRun, RelationName, Run
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.tree_changes import TreeReader

PREFIX = "runs/"
"""Run branches are named `runs/<invocation id>`."""

LEASE: Micros = Micros(15 * 60 * 1_000_000)
"""How long a run branch counts as in use after its last lease renewal."""

SKIPPED: Final = "skipped"
"""Status of nodes that follow from one that failed."""

PENDING: Final = "pending"
"""Status of nodes that a command of a shared run is about to build; its results come later."""

UNDONE: Final = frozenset({"error", "runtime error", SKIPPED})
"""Statuses of nodes whose changes are dropped."""

FAILED: Final = frozenset({"error", "runtime error", "fail", "partial success"})
"""Statuses of nodes that make dbt report a failure."""


SHARED_LEASE: Micros = Micros(24 * 60 * 60 * 1_000_000)
"""How long a shared run counts as in use after a command of it landed: schedulers may pause."""


class Status(str, Enum):
    """The state of a run.

    `open`: running, or killed (see `RunBranch.is_abandoned`). `failed`: a node or test failed,
    or it could not publish; `dbt retry` resumes it. `interrupted`: stopped before its end,
    which dbt can't retry as a whole. `passed`: succeeded and not published yet. `published`:
    on its target. `resumed`: continued by another run.
    """

    OPEN = "open"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    PASSED = "passed"
    PUBLISHED = "published"
    RESUMED = "resumed"

    # Python 3.10 has no StrEnum, whose text is the value.
    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBranch:
    """One run branch.

    Attributes:
        invocation: dbt's invocation id.
        status: Its state.
        target: The branch that it publishes to.
        fork: The target's head when the run began.
        head: The run branch's last commit.
        command: dbt's sub-command.
        started_at: When it began.
        alive_until: When it stops counting as in use.
        tested: True if tests passed on it.
        owner: `host:pid` of its process.
        note: Why it was not published.
        ended_at: When it ended; None if it is still running or was killed.
        is_shared: True if many commands join it (`workspace.shared_run`).
        has_failures: True if something failed in a command that joined it, ever.
    """

    invocation: str
    status: Status
    target: str
    fork: CommitId
    head: CommitId
    command: str
    started_at: Micros
    alive_until: Micros
    tested: bool = False
    owner: str = ""
    note: str = ""
    ended_at: Micros | None = None
    is_shared: bool = False
    has_failures: bool = False

    @property
    def name(self) -> str:
        """Name of the branch."""
        return PREFIX + self.invocation

    @property
    def state(self) -> dict[str, str]:
        """This run as the branch's reference log stores it."""
        return {
            "run": self.invocation,
            "status": str(self.status),
            "target": self.target,
            "fork": self.fork,
            "command": self.command,
            "started_at": str(self.started_at),
            "alive_until": str(self.alive_until),
            "tested": "yes" if self.tested else "no",
            "owner": self.owner,
            "note": self.note,
            "ended_at": str(self.ended_at or ""),
            **({"shared": "yes"} if self.is_shared else {}),
            **({"failures": "yes"} if self.has_failures else {}),
        }

    def is_abandoned(self, now: Micros) -> bool:
        """Return whether its process is gone: the lease expired, or it is dead on this host."""
        if self.status is not Status.OPEN:
            return False
        return now > self.alive_until or _is_dead(self.owner)


def run_of(branch: Branch) -> RunBranch | None:
    """Return the run that a branch belongs to, or None if it is no run branch."""
    state: Mapping[str, str] = branch.ref.move.state
    if "run" not in state:
        return None
    # No process holds a shared run: it lives by what lands on it.
    is_shared = state.get("shared") == "yes"
    lives = branch.ref.move.at + SHARED_LEASE if is_shared else int(state["alive_until"])
    return RunBranch(
        invocation=state["run"],
        status=Status(state["status"]),
        target=state["target"],
        fork=CommitId(state["fork"]),
        head=branch.head,
        command=state["command"],
        started_at=Micros(int(state["started_at"])),
        alive_until=Micros(lives),
        tested=state["tested"] == "yes",
        owner=state["owner"],
        note=state["note"],
        ended_at=Micros(int(state["ended_at"])) if state.get("ended_at") else None,
        is_shared=is_shared,
        has_failures=state.get("failures") == "yes",
    )


def runs(repository: Repository) -> list[RunBranch]:
    """Return every run whose branch exists, newest first."""
    # Others are not read: there may be many of them.
    branches = repository.branches(names=repository.branch_names(PREFIX))
    found = [run for branch in branches if (run := run_of(branch))]
    return sorted(found, key=lambda run: run.started_at, reverse=True)


def find_run(repository: Repository, invocation: str) -> RunBranch:
    """Return the run with an invocation id, a prefix of one, or a branch name.

    Raises:
        NotFoundError: There is none.
        InputError: The prefix matches several, or is empty.
    """
    wanted = invocation.removeprefix(PREFIX)
    # An empty text would be the start of every id.
    if not wanted:
        raise InputError("The run id is empty. Use one from: dbt-vcs runs list")
    # A whole id is one read; for a prefix all run branches are looked at.
    exact = repository.find_branch(PREFIX + wanted)
    if exact is not None and (run := run_of(exact)):
        return run
    found = [run for run in runs(repository) if run.invocation.startswith(wanted)]
    if not found:
        raise NotFoundError(f"There is no run '{invocation}'; see dbt-vcs runs list.")
    if len(found) > 1:
        raise InputError(f"'{invocation}' matches {len(found)} runs; give more of the id.")
    return found[0]


def discard(repository: Repository, run: RunBranch, *, author: str, force: bool = False) -> None:
    """Delete a run's branch, but nothing that it published.

    Raises:
        ConflictError: The run is still running, and `force` is not set.
    """
    at_work = run.status is Status.OPEN and not run.is_abandoned(repository.clock())
    if at_work and not force:
        raise ConflictError(
            f"The run {run.invocation} is still running ({run.owner}). Wait for it, stop it, or "
            "discard it with --force."
        )
    repository.delete_branch(run.name, author=author)


def is_expired(repository: Repository, run: RunBranch, now: Micros, keep: Micros) -> bool:
    """Return whether a run's branch is older than the retention, which keeps it for so long.

    A machine whose clock is slow doesn't make it older than its last move in the store.
    """
    if run.status is Status.OPEN and not run.is_abandoned(now):
        return False
    if now <= run.alive_until + keep:
        return False
    branch = repository.find_branch(run.name)
    written = repository.refs.written_at("heads", branch.ref) if branch else Micros(0)
    # The last move set `alive_until` a lease ahead of its own time.
    return now > written + LEASE + keep


def check_mergeable(repository: Repository, run: RunBranch) -> None:
    """Refuse to merge the branch of a run that is unfinished or superseded.

    Raises:
        ConflictError: It is still running, failed, or was resumed by another run.
    """
    # Whoever closed a shared run may have died before it was checked.
    is_doubtful = run.is_shared and run.status is Status.PASSED and undone_nodes(repository, run)
    if run.status in (Status.PASSED, Status.PUBLISHED) and not is_doubtful:
        return
    raise ConflictError(
        f"{run.name} is the branch of a run that is {run.status}"
        f"{': ' + run.note if run.note else ''}. Fix the cause and run it again, or merge it as "
        "it is with --force."
    )


def commits_of(repository: Repository, run: RunBranch) -> Iterator[Commit]:
    """Yield the commits of a run's branch, newest first, down to where it forked."""
    at = run.head
    while at != run.fork:
        commit = repository.objects.commit(at)
        yield commit
        if not commit.parents:
            return
        at = commit.parents[0]


def steps_of(repository: Repository, run: RunBranch) -> list[NodeRun]:
    """Return the results of the nodes that changed something, oldest first.

    They are taken from the commits of the run's branch, which include those of a run that it
    resumed.
    """
    return [node for node in announced_and_ended(repository, run) if node.status != PENDING]


def announced_and_ended(repository: Repository, run: RunBranch) -> list[NodeRun]:
    """Return what `steps_of` does, and between them the nodes that commands announced."""
    found: list[NodeRun] = []
    for commit in commits_of(repository, run):
        found.extend(commit.run.nodes if commit.run else ())
    return found[::-1]


def undone_nodes(repository: Repository, run: RunBranch) -> list[NodeRun]:
    """Return the nodes of a shared run that are not done, by id.

    They failed or were left out the last time, or the last command that announced them has not
    ended.
    """
    last = {node.id: node for node in announced_and_ended(repository, run)}
    return [last[id] for id in sorted(last) if last[id].status in FAILED | UNDONE | {PENDING}]


def this_process() -> str:
    """Return `host:pid` of this process."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _is_dead(owner: str) -> bool:
    host, _, pid = owner.rpartition(":")
    # Of processes on other machines, only the lease is known.
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        # Signal 0 only asks whether there is such a process.
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        # It is there, and another user's.
        return False
    return False


def record_of(repository: Repository, run: RunBranch) -> Run:
    """Return the record for the commit that publishes a run, taken from the run's branch.

    The profile's target, dbt's version and the project's commit are those of the newest step.
    The seconds count to the end of the run, or to its last commit if it recorded no end.
    """
    # Checksums are for a retry, and a published run isn't retried. Of a node that ran in two runs
    # the later record counts.
    nodes = {
        node.id: msgspec.structs.replace(node, file_checksum=None)
        for node in steps_of(repository, run)
    }
    records = (commit.run for commit in commits_of(repository, run))
    newest = next((record for record in records if record is not None), None)
    ended_at = run.ended_at or repository.objects.commit(run.head).committed_at
    return Run(
        invocation=run.invocation,
        command=run.command,
        target=newest.target if newest else "",
        dbt_version=newest.dbt_version if newest else "",
        git_sha=newest.git_sha if newest else None,
        started_at=run.started_at,
        seconds=round(max(ended_at - run.started_at, 0) / 1_000_000, 3),
        head=run.head,
        nodes=tuple(nodes[id] for id in sorted(nodes)),
    )


_GOOD = frozenset({"pass", "warn"})
_SHOWN = 10


class _Finding(NamedTuple):
    """A result of one test.

    Attributes:
        is_good: True if the test passed or warned.
        saw: The versions that it read, by `schema.identifier`; several where it compared them.
        at: When it ran.
    """

    is_good: bool
    saw: dict[str, set[str]]
    at: Micros


def _findings(
    repository: Repository, source: CommitId, since: CommitId
) -> dict[str, list[_Finding]]:
    """Return the findings of every test by its id, oldest first.

    They come from the commits of `source` since it forked from `since`, and from all run
    branches.
    """
    found: dict[str, list[_Finding]] = {}
    for node, at in _records(repository, source, since):
        # A test that read no version is no evidence for one.
        if node.inputs:
            saw: dict[str, set[str]] = {}
            for item in node.inputs:
                saw.setdefault(item.relation, set()).add(item.version)
            found.setdefault(node.id, []).append(_Finding(node.status in _GOOD, saw, at))
    for items in found.values():
        items.sort(key=lambda item: item.at)
    return found


class Evidence(NamedTuple):
    """What one test says of the versions that a commit shows.

    Attributes:
        test: dbt's unique id.
        is_good: True if it passed or warned the last time that it read exactly these versions,
            False if it failed; None if it never read them, but others of these relations.
        saw: The relations, `schema.identifier`, that it read.
    """

    test: str
    is_good: bool | None
    saw: frozenset[str]


def evidence(
    repository: Repository, source: CommitId, target: CommitId, changed: Iterable[RelationName]
) -> list[Evidence]:
    """Return what tests say of what `source` shows, by test; see `check_tested`.

    A test that never read these versions is left out unless it read a changed relation.
    """
    tree = repository.tree(source)
    wanted = _shown(repository, source, changed)
    found: list[Evidence] = []
    for test, items in _findings(repository, source, target).items():
        # A test that passed on main says nothing of the rows that are to be published.
        current = [item for item in items if _is_current(tree, item)]
        if current:
            last = current[-1]
            found.append(Evidence(test, last.is_good, frozenset(last.saw)))
        elif any(wanted & item.saw.keys() for item in items):
            saw = frozenset(name for item in items for name in item.saw)
            found.append(Evidence(test, None, saw))
    return sorted(found, key=lambda item: item.test)


def _shown(repository: Repository, source: CommitId, changed: Iterable[RelationName]) -> set[str]:
    tree = repository.tree(source)
    # A relation that is dropped has no rows to test.
    return {str(name) for name in changed if tree.entry(name) is not None}


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
    wanted = _shown(repository, source, changed)
    found = evidence(repository, source, target, changed)
    failed = [item.test for item in found if item.is_good is False]
    stale = [item.test for item in found if item.is_good is None]
    seen = {name for item in found if item.is_good for name in item.saw}
    missing = sorted(wanted - seen)
    problems = [
        *([f"failed: {listed(sorted(failed), _SHOWN)}"] if failed else []),
        *([f"saw other versions: {listed(sorted(stale), _SHOWN)}"] if stale else []),
        *([f"no test has seen: {listed(sorted(missing), _SHOWN)}"] if missing else []),
    ]
    if problems:
        raise ConflictError(
            f"Tests are required, and not every one passed on what is to be published ("
            f"{'; '.join(problems)}). Nothing was changed. Run dbt test on the branch, then "
            "promote it again."
        )


def _is_current(tree: TreeReader, item: _Finding) -> bool:
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
        # The log is newest first, so all that follow are older than the fork.
        if commit.committed_at <= shared:
            break
        for node in commit.run.nodes if commit.run else ():
            yield node, commit.committed_at
    # What tests of unpublished runs saw counts the same: versions say what it was, not where.
    for run in runs(repository):
        for commit in commits_of(repository, run):
            for node in commit.run.nodes if commit.run else ():
                yield node, commit.committed_at


def _id(tree: TreeReader, name: str) -> str | None:
    entry = tree.entry(RelationName.of(name))
    return None if entry is None else entry.version
