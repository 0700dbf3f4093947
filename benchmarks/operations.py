"""What a growth benchmark times: each trial opens the repository again and does one thing once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from synthetic import (
    AUTHOR,
    COLUMNS,
    LARGE,
    SCHEMA,
    SMALL,
    open_repository,
    put,
    stored,
    touch,
)

from dbt.adapters.vcs.changes.writes.append import append_arrow
from dbt.adapters.vcs.commands.branch import create_branch, list_branches
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.gc import collect
from dbt.adapters.vcs.commands.log import read_log
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.restore import restore_branch, restore_relation
from dbt.adapters.vcs.commands.status import read_status
from dbt.adapters.vcs.commands.tag import create_tag
from dbt.adapters.vcs.core.model import Origin, RelationName, Snapshot, TableEntry
from dbt.adapters.vcs.core.plan.delta import delta
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.engines.port import Engine
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.table_version import Version


@dataclass(slots=True)
class Site:
    """One repository, and names that nobody gave yet."""

    folder: Path
    numbers: "count[int]" = field(default_factory=count)

    def repository(self) -> Repository:
        """Open the repository as a command does."""
        return open_repository(self.folder)

    def helper(self) -> Repository:
        """Open the repository for what is not timed."""
        return open_repository(self.folder, fsync=False)

    def new_branch(self, prefix: str = "trial") -> str:
        """Make a branch of ``main`` for one trial, so that trials leave ``main`` as it is."""
        repository = self.helper()
        name = f"{prefix}/{next(self.numbers)}"
        repository.create_branch(name, repository.branch("main").head, author=AUTHOR)
        return name


@dataclass(frozen=True, slots=True)
class Trial:
    """One operation to time, and the check of its result."""

    work: Callable[[], object]
    is_right: Callable[[], bool]


def branch(site: Site) -> Trial:
    """Make a branch of ``main``."""
    name = f"new/{next(site.numbers)}"
    return Trial(
        lambda: create_branch(site.repository(), name, "main", author=AUTHOR),
        lambda: head(site, name) == head(site, "main"),
    )


def tag(site: Site) -> Trial:
    """Tag ``main``."""
    name = f"v{next(site.numbers)}"
    return Trial(
        lambda: create_tag(site.repository(), name, "main", author=AUTHOR),
        lambda: site.helper().resolve(name) == head(site, "main"),
    )


def clone(site: Site) -> Trial:
    """Clone the table of many blocks on a branch."""
    name = site.new_branch()
    return Trial(
        lambda: clone_from_snapshot(
            site.repository(), str(LARGE), f"{SCHEMA}.copy", branch=name, author=AUTHOR
        ),
        lambda: (
            shown(site, name, RelationName(SCHEMA, "copy")).segments
            == shown(site, "main", LARGE).segments
        ),
    )


def restore_table(site: Site) -> Trial:
    """Let the table of many blocks be what it was before the last commit."""
    name = site.new_branch()
    touch(site.helper(), name, LARGE)
    return Trial(
        lambda: restore_relation(
            site.repository(), str(LARGE), f"{name}~1", branch=name, author=AUTHOR
        ),
        lambda: shown(site, name, LARGE).segments == shown(site, "main", LARGE).segments,
    )


def restore_all(site: Site) -> Trial:
    """Let a branch be what it was before the last commit."""
    name = site.new_branch()
    touch(site.helper(), name, LARGE)
    return Trial(
        lambda: restore_branch(site.repository(), f"{name}~1", branch=name, author=AUTHOR),
        lambda: shown(site, name, LARGE).segments == shown(site, "main", LARGE).segments,
    )


def fast_forward(site: Site) -> Trial:
    """Merge a branch that changed the table of many blocks into one that did nothing."""
    target, source = site.new_branch(), site.new_branch()
    touch(site.helper(), source, LARGE)
    return Trial(
        lambda: merge(site.repository(), source, target, author=AUTHOR),
        lambda: head(site, target) == head(site, source),
    )


def fast_forward_rebuild(site: Site) -> Trial:
    """Merge a branch that has the table of many blocks under another name, too."""
    target, source = site.new_branch(), site.new_branch()
    repository, name = site.helper(), RelationName(SCHEMA, "another")
    put(repository, source, {name: stored(repository, shown(site, "main", LARGE))})
    return Trial(
        lambda: merge(site.repository(), source, target, author=AUTHOR),
        lambda: head(site, target) == head(site, source),
    )


def merge_apart(site: Site) -> Trial:
    """Merge two branches that changed one table each."""
    target, source = site.new_branch(), site.new_branch()
    touch(site.helper(), source, LARGE)
    touch(site.helper(), target, SMALL)

    def is_right() -> bool:
        pairs = ((source, LARGE), (target, SMALL))
        return all(shown(site, target, name) == shown(site, side, name) for side, name in pairs)

    return Trial(lambda: merge(site.repository(), source, target, author=AUTHOR), is_right)


def publish(site: Site) -> Trial:
    """Commit a version of one table, its manifests at hand."""
    name = site.new_branch()
    before = head(site, name)
    return Trial(
        lambda: touch(site.repository(), name, SMALL),
        lambda: site.helper().objects.commit(head(site, name)).parents == (before,),
    )


def commit_a_row(site: Site) -> Trial:
    """Write one row into the table of many blocks, Parquet file and commit included."""
    name = site.new_branch()
    row = pa.table({f.name: ["x" if f.type == "string" else 1] for f in COLUMNS.fields})

    def work() -> None:
        repository = site.repository()
        workspace = Workspace(
            repository, BranchLine(repository, name, AUTHOR), no_engine, schema=SCHEMA
        )
        overlay = workspace.begin()
        scope = workspace.connect("benchmark").scope("insert", overlay, Origin())
        append_arrow(scope, LARGE, row)
        workspace.line.land(overlay, "Insert a row")

    def is_right() -> bool:
        return shown(site, name, LARGE).rows == shown(site, "main", LARGE).rows + 1

    return Trial(work, is_right)


def plan_a_diff(site: Site) -> Trial:
    """Find out which blocks differ between two commits, of which one wrote one block."""
    name = site.new_branch()
    touch(site.helper(), name, LARGE)
    found: list[int] = []

    def work() -> None:
        repository = site.repository()
        old, new = (repository.branch(side).head for side in ("main", name))
        (change,) = repository.diff(old, new).relations
        assert isinstance(change.old, TableEntry)
        assert isinstance(change.new, TableEntry)
        read = repository.objects
        parts = delta(
            read.snapshot(change.old.snapshot), read.snapshot(change.new.snapshot), read.segments
        )
        found[:] = [len(parts.added), len(parts.removed)]

    return Trial(work, lambda: found == [1, 0])


def plan_a_read(site: Site, name: str = "main", relation: RelationName = LARGE) -> Trial:
    """Find out which files a reader of a table reads."""
    found: list[int] = []

    def work() -> None:
        repository = site.repository()
        workspace = Workspace(
            repository, BranchLine(repository, name, AUTHOR), no_engine, schema=SCHEMA
        )
        overlay = workspace.begin()
        mount = Version.of(repository, overlay.require_table(relation)).mount()
        found[:] = [len(mount.files)]

    blocks = sum(ref.blocks for ref in shown(site, name, relation).segments)
    return Trial(work, lambda: found == [blocks])


def plan_a_deep_read(site: Site) -> Trial:
    """Find out which files a reader of the deepest branch reads."""
    return plan_a_read(site, "deepest")


def log(site: Site) -> Trial:
    """Read the last 20 commits, with the names that they have."""
    found: list[int] = []
    there = sum(1 for _ in site.helper().log(head(site, "main")))
    return Trial(
        lambda: found.append(len(list(read_log(site.repository(), "main", limit=20)))),
        lambda: found[-1] == min(20, there),
    )


def merge_base_near(site: Site) -> Trial:
    """Find where a branch left ``main`` ten commits ago."""
    return _merge_base(site, "recent")


def merge_base_far(site: Site) -> Trial:
    """Find where a branch left ``main`` at its first commit."""
    return _merge_base(site, "old")


def _merge_base(site: Site, name: str) -> Trial:
    repository = site.helper()
    if repository.find_branch(name) is None:
        name = "main"
    expected = head(site, name)
    found: list[object] = []

    def work() -> None:
        opened = site.repository()
        heads = [opened.branch(side).head for side in (name, "main")]
        found[:] = [opened.merge_base(*heads)]

    return Trial(work, lambda: found == [expected])


def tables(site: Site) -> Trial:
    """List the tables of ``main``."""
    found: list[int] = []

    def work() -> None:
        repository = site.repository()
        shown = repository.tree(repository.branch("main").head).relations(SCHEMA)
        found[:] = [sum(1 for _ in shown.items())]

    expected = len(site.helper().tree(head(site, "main")).relations(SCHEMA))
    return Trial(work, lambda: found == [expected])


def diff_one_table(site: Site) -> Trial:
    """Find the one table that a branch changed."""
    name = site.new_branch()
    touch(site.helper(), name, SMALL)
    found: list[RelationName] = []

    def work() -> None:
        repository = site.repository()
        ends = (repository.branch(each).head for each in ("main", name))
        found[:] = [change.name for change in repository.diff(*ends).relations]

    return Trial(work, lambda: found == [SMALL])


def branches(site: Site) -> Trial:
    """List the branches, each with how far it is from ``main``."""
    found: list[int] = []
    expected = len(site.helper().branches())
    return Trial(
        lambda: found.append(len(list(list_branches(site.repository())))),
        lambda: found[-1] == expected,
    )


def status(site: Site) -> Trial:
    """Show the status of ``main``."""
    found: list[Any] = []
    return Trial(
        lambda: found.append(read_status(site.repository(), "main")),
        lambda: found[-1].head == head(site, "main"),
    )


def some_branches(site: Site) -> Trial:
    """List the first 20 branches."""
    found: list[int] = []
    there = len(site.helper().branch_names())
    return Trial(
        lambda: found.append(len(list(islice(list_branches(site.repository(), first=20), 20)))),
        lambda: found[-1] == min(20, there),
    )


def collection(site: Site) -> Trial:
    """Find what a collection would delete."""
    found: list[Any] = []
    return Trial(
        lambda: found.append(collect(site.repository(), author=AUTHOR, dry_run=True)),
        lambda: found[-1].files == found[-1].objects == 0,
    )


POINTERS: Mapping[str, Callable[[Site], Trial]] = {
    "create a branch": branch,
    "tag": tag,
    "clone a table": clone,
    "restore a table": restore_table,
    "restore a branch": restore_all,
    "fast-forward": fast_forward,
}
"""What is to take less than 20 ms whatever the size."""


def head(site: Site, name: str) -> str:
    """Return where a branch points."""
    return site.helper().branch(name).head


def shown(site: Site, name: str, relation: RelationName) -> Snapshot:
    """Return the version of a table that a branch shows."""
    repository = site.helper()
    entry = repository.tree(repository.branch(name).head).entry(relation)
    assert isinstance(entry, TableEntry)
    return repository.objects.snapshot(entry.snapshot)


def no_engine() -> Engine:
    """Refuse to start Spark: nothing here may need it."""
    raise SystemExit("Spark was asked for, by what must not need it.")
