"""Erasure of rows from all versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import NoReturn

import msgspec
import pytest
import zstandard

from dbt.adapters.vcs.changes.diffs.difference import diff
from dbt.adapters.vcs.changes.merges.conflicts.choices import RowChoice
from dbt.adapters.vcs.changes.merges.conflicts.open_merges import find_open_merge
from dbt.adapters.vcs.changes.merges.conflicts.policy import Choice
from dbt.adapters.vcs.changes.merges.project_rules import BranchRule, Rules
from dbt.adapters.vcs.commands.clone import clone_from_snapshot
from dbt.adapters.vcs.commands.fsck import DataCheck, check_repository
from dbt.adapters.vcs.commands.gc import collect, set_retention
from dbt.adapters.vcs.commands.layout import plain_text
from dbt.adapters.vcs.commands.merge import continue_merge, merge
from dbt.adapters.vcs.commands.purge import PurgeReport, PurgeRequest, purge, purge_text
from dbt.adapters.vcs.commands.repair import go_back
from dbt.adapters.vcs.commands.resolve import resolve, undo_decision
from dbt.adapters.vcs.commands.show import show_commit
from dbt.adapters.vcs.commands.snapshot import create_snapshot
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import (
    ConflictError,
    InputError,
    NotFoundError,
    ProtectedError,
    RetryError,
    VcsError,
)
from dbt.adapters.vcs.core.ids import CommitId, SnapshotId
from dbt.adapters.vcs.core.model import (
    ColumnStats,
    Entry,
    Input,
    NodeRun,
    Origin,
    RelationName,
    Run,
    TableEntry,
)
from dbt.adapters.vcs.core.origins.results import Result, Results
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.retention import hold
from dbt.adapters.vcs.core.store.blobs import BlobInfo, MemoryBlobs
from dbt.adapters.vcs.core.store.log_repair import plan_log
from dbt.adapters.vcs.iceberg.exports import export
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.run_branch import Status, commits_of, runs
from tests.contract.faulty import Crash
from tests.unit.shelf import Shelf
from tests.unit.tables import Tables
from tests.unit.warehouse import Clock, Warehouse

JANE = "zz-jane@example.org"


@pytest.fixture
def tables() -> Tables:
    clock = Clock()
    return Tables(Warehouse(MemoryBlobs(clock), clock))


def again(tables: Tables) -> Repository:
    """The repository as another process sees it."""
    repository = tables.warehouse.repository
    return Repository.open(repository.blobs, clock=repository.clock)


def erase(tables: Tables, where: str = f"name = '{JANE}'", **options: bool) -> PurgeReport:
    request = PurgeRequest(relation="shop.a", where=where, **options)
    return purge(again(tables), request, author="bob")


def no_engine() -> NoReturn:
    raise AssertionError("no engine is needed here")


def shown(repository: Repository, revision: str, name: str = "a") -> dict[int, str | None]:
    commit = CommitId(repository.resolve(revision))
    entry: Entry | None = repository.tree(commit).entry(RelationName("shop", name))
    assert isinstance(entry, TableEntry)
    rows = diff(repository, None, repository.objects.snapshot(entry.snapshot)).rows.to_pylist()
    return {row["id"]: row["name"] for row in rows}


def holding(repository: Repository, text: str) -> list[str]:
    """The files of a repository that hold a text, as it is or compressed."""
    found = []
    for folder in ("objects", "refs", "data", "rewritten", "damaged", "turns", "results"):
        for info in repository.blobs.walk(folder):
            data = repository.blobs.get(info.path)
            if data.startswith(b"\x28\xb5\x2f\xfd"):
                data = zstandard.ZstdDecompressor().decompress(data)
            if text.encode() in data:
                found.append(info.path)
    return found


def history(tables: Tables) -> None:
    """A table with a row that was inserted, moved on, and deleted by a tombstone."""
    first = tables.block({1: "ann", 2: JANE, 3: "bob"})
    one = tables.entry([first])
    tables.put(a=one, b=tables.entry([tables.block({7: "kim"})]))
    two = tables.entry([first, tables.block({4: JANE})], parents=[one])
    tables.put(a=two)
    tables.warehouse.branch("dev")
    tables.warehouse.repository.create_tag("v1", tables.warehouse.head(), author="ann")
    tombstone = tables.tombstone(first, {1: (2, JANE), 2: (3, "bob")})
    tables.put(a=tables.entry([first], [tombstone], parents=[two]))
    tables.put("dev", c=tables.entry([tables.block({9: "zoe"})]))


def test_rows_are_erased_from_all_versions(tables: Tables) -> None:
    history(tables)
    assert holding(tables.warehouse.repository, JANE)
    report = erase(tables)
    repository = again(tables)
    assert holding(repository, JANE) == []
    assert shown(repository, "main") == {1: "ann"}
    assert shown(repository, "main~1") == {1: "ann", 3: "bob"} == shown(repository, "v1")
    assert shown(repository, "main~2") == {1: "ann", 3: "bob"} == shown(repository, "dev~2")
    assert shown(repository, "dev", "b") == {7: "kim"}
    assert check_repository(repository).problems == ()
    assert (report.rows, report.before_images, report.commits) == (2, 1, 4)
    assert report.moved == ("branch dev", "branch main", "tag v1")
    assert [(table.relation, table.versions) for table in report.tables] == [("shop.a", 3)]


@pytest.mark.parametrize(
    "where",
    [
        "name like 'zz-%' and not id in (1, 3)",
        "id = 2 or id = 4",
        "id < 7 and not (id < 2) and (name <> 'bob' and name is not null)",
    ],
)
def test_conditions_on_columns_of_one_meaning_need_no_engine(tables: Tables, where: str) -> None:
    history(tables)
    request = PurgeRequest(relation="shop.a", where=where)
    report = purge(again(tables), request, author="bob", engine=no_engine)
    assert holding(again(tables), JANE) == []
    assert (report.rows, report.before_images) == (2, 1)


@pytest.mark.parametrize("where", ["upper(name) = 'X'", "id = 1.5", "name = 1", "id + 1 = 2"])
def test_the_engine_is_asked_where_sql_has_its_own_way(tables: Tables, where: str) -> None:
    history(tables)
    with pytest.raises(AssertionError, match="no engine"):
        purge(
            again(tables),
            PurgeRequest(relation="shop.a", where=where, dry_run=True),
            author="bob",
            engine=no_engine,
        )


def test_lines_of_history_keep_their_common_ancestor(tables: Tables) -> None:
    history(tables)
    erase(tables)
    repository = again(tables)
    main, dev = repository.branch("main").head, repository.branch("dev").head
    assert repository.merge_base(main, dev) == repository.resolve("main~1")
    assert repository.resolve("v1") == repository.resolve("main~1")


def test_the_id_of_a_rewritten_commit_leads_to_the_new_one(tables: Tables) -> None:
    history(tables)
    old = again(tables).resolve("main~1")
    erase(tables)
    repository = again(tables)
    new = repository.resolve("main~1")
    for revision in (old, f"{old[:9]}", f"{old[:9]}~1"):
        with pytest.raises(NotFoundError, match=f"rewritten by a purge. It is {new[:12]} now"):
            repository.resolve(revision)


def test_what_nothing_touched_keeps_its_id(tables: Tables) -> None:
    tables.put(b=tables.entry([tables.block({7: "kim"})]))
    before = tables.warehouse.head()
    tables.warehouse.branch("early")
    tables.put(a=tables.entry([tables.block({1: JANE, 2: "ann"})]))
    erase(tables)
    repository = again(tables)
    assert repository.branch("early").head == before == repository.resolve("main~1")
    assert shown(repository, "main", "b") == {7: "kim"}


def test_a_second_purge_finds_nothing(tables: Tables) -> None:
    history(tables)
    erase(tables)
    heads = [(branch.name, branch.head) for branch in again(tables).branches()]
    report = erase(tables)
    assert (report.rows, report.commits, report.moved) == (0, 0, ())
    assert [(branch.name, branch.head) for branch in again(tables).branches()] == heads


def test_a_dry_run_reports_the_same_and_writes_nothing(tables: Tables) -> None:
    history(tables)
    blobs = tables.warehouse.blobs
    folders = ("objects", "refs", "data", "rewritten")
    before = {info.path for folder in folders for info in blobs.walk(folder)}
    planned = erase(tables, dry_run=True)
    assert {info.path for folder in folders for info in blobs.walk(folder)} == before
    done = erase(tables)
    for name in ("tables", "rows", "before_images", "commits", "moved", "rewritten_files"):
        assert getattr(planned, name) == getattr(done, name), name


def test_earlier_moves_lead_to_the_new_history(tables: Tables) -> None:
    history(tables)
    tables.warehouse.repository.delete_branch("dev", author="ann")
    erase(tables)
    repository = again(tables)
    assert shown(repository, "main@{1}") == {1: "ann", 3: "bob"}
    [before, _] = [move.move.commit for move in repository.refs.log("heads", "dev")][1:]
    assert before is not None
    assert shown(repository, before) == {1: "ann", 3: "bob"}
    set_retention(repository, 1, author="ann")
    collect(repository, author="ann")
    assert shown(again(tables), "main@{1}") == {1: "ann", 3: "bob"}


def test_messages_are_redacted_where_that_is_asked_for_and_reported_otherwise(
    tables: Tables,
) -> None:
    tables.warehouse.put(
        a=tables.entry([tables.block({1: JANE})]), message=f"update a set name = '{JANE}'"
    )
    planned = erase(tables, dry_run=True)
    assert planned.mentions[0].startswith("the message of commit ")
    report = purge(
        again(tables),
        PurgeRequest(relation="shop.a", where=f"name = '{JANE}'", redact=(JANE,)),
        author="bob",
    )
    repository = again(tables)
    head = repository.objects.commit(repository.branch("main").head)
    assert head.message == "update a set name = '[redacted]'"
    assert report.mentions == ()
    assert holding(repository, JANE) == []
    assert check_repository(repository).problems == ()


def test_a_redaction_leaves_no_text_in_what_a_repair_took_away(tables: Tables) -> None:
    tables.put(a=tables.entry([tables.block({1: "ann"})]))
    tables.warehouse.put(
        a=tables.entry([tables.block({1: JANE})]), message=f"update a set name = '{JANE}'"
    )
    # The move behind a lost one is sealed again, and the file that it had is put aside.
    tables.warehouse.blobs.delete("refs/heads/main/00000000000000000002")
    go_back(again(tables), "main", author="ann")
    assert any(path.startswith("damaged/") for path in holding(again(tables), JANE))
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'", redact=(JANE,))
    purge(again(tables), request, author="bob")
    assert holding(again(tables), JANE) == []


def test_a_protected_branch_is_not_rewritten(tables: Tables) -> None:
    history(tables)
    tables.warehouse.repository.protect("dev", Protection(), author="ann")
    head = again(tables).branch("main").head
    with pytest.raises(ProtectedError, match="branch dev is protected"):
        erase(tables)
    assert again(tables).branch("main").head == head
    assert shown(again(tables), "main~1") == {1: "ann", 2: JANE, 3: "bob", 4: JANE}


def test_a_dry_run_changes_nothing_and_so_may_look_at_protected_names(tables: Tables) -> None:
    history(tables)
    repository = tables.warehouse.repository
    for branch in ("main", "dev"):
        repository.protect(branch, Protection(), author="ann")
    head = again(tables).branch("main").head
    planned = erase(tables, dry_run=True)
    assert {"branch main", "branch dev"} <= set(planned.closed) < set(planned.moved)
    told = "\n".join(plain_text(purge_text(planned)))
    assert "branch main (protected)" in told and "only with --protected" in told
    assert again(tables).branch("main").head == head
    # What would be done with --protected is the same, and is refused nowhere.
    allowed = erase(tables, dry_run=True, protected=True)
    assert allowed == replace(planned, closed=())
    erase(tables, protected=True)


def test_a_protected_branch_is_rewritten_on_request_and_stays_protected(tables: Tables) -> None:
    history(tables)
    repository = tables.warehouse.repository
    repository.protect("dev", Protection(), author="ann")
    repository.protect("main", Protection(("tests",)), author="ann")
    erase(tables, protected=True)
    assert holding(again(tables), JANE) == []
    assert again(tables).branch("dev").protection == Protection()
    assert again(tables).branch("main").protection == Protection(("tests",))


def test_the_rules_of_a_project_are_asked_before_anything_moves(tables: Tables) -> None:
    history(tables)
    repository = again(tables)
    rules = Rules(branches=(BranchRule(pattern="main", protection=Protection()),))
    heads = {branch.name: branch.head for branch in repository.branches()}
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'")
    with pytest.raises(ProtectedError, match="branch main is protected"):
        purge(
            repository,
            request,
            author="bob",
            guard=lambda branch: rules.check_open(repository, branch),
        )
    assert {branch.name: branch.head for branch in again(tables).branches()} == heads
    assert repository.find_tag("v1") == again(tables).find_tag("v1")


def test_notes_of_runs_are_redacted_in_earlier_moves_too(tables: Tables) -> None:
    history(tables)
    tables.warehouse.run("r1", Status.FAILED, note=f"duplicate key {JANE}")
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'", redact=(JANE,))
    report = purge(again(tables), request, author="bob")
    run = again(tables).branch("runs/r1")
    assert "duplicate key [redacted]" in run.state.values()
    assert report.mentions == ()
    assert holding(again(tables), JANE) == []


def test_a_run_begins_where_it_did_also_after_a_purge(tables: Tables) -> None:
    history(tables)
    tables.warehouse.run("r1", Status.FAILED, b=tables.entry([tables.block({8: "lea"})]))
    erase(tables)
    repository = again(tables)
    (run,) = runs(repository)
    assert [commit.message for commit in commits_of(repository, run)] == ["model.shop.b (success)"]
    detail = show_commit(repository, run.name)
    assert detail.since == repository.branch("main").head
    assert [str(change.name) for change in detail.changes] == ["shop.b"]


def test_a_redaction_leaves_the_names_that_a_collection_wrote_down(tables: Tables) -> None:
    history(tables)
    tables.warehouse.branch("zoe/work")
    collect(again(tables), author="gc")
    purge(
        again(tables),
        PurgeRequest(relation="shop.a", where=f"name = '{JANE}'", redact=("zoe",)),
        author="bob",
    )
    collect(again(tables), author="gc")
    assert again(tables).branch("zoe/work").head


@pytest.mark.parametrize("text", ["main", "mai", "dev", "a part of its id"])
def test_a_merge_that_waits_goes_on_when_what_it_names_is_redacted(
    tables: Tables, text: str
) -> None:
    base = tables.entry([tables.block({1: JANE, 2: "kim"})], key=True)
    tables.put(a=base)
    tables.warehouse.branch("dev")
    for branch, name in (("main", "kit"), ("dev", "kip")):
        rows = tables.block({1: JANE, 2: name})
        tables.put(branch, a=tables.entry([rows], parents=[base], key=True))
    with pytest.raises(ConflictError):
        merge(again(tables), "dev", "main", author="ann")
    if text == "a part of its id":
        text = find_open_merge(again(tables), "main").theirs[20:24]
    request = PurgeRequest(relation="shop.a", where="id = 1", redact=(text,))
    purge(again(tables), request, author="bob")
    resolve(again(tables), "main", "shop.a", RowChoice(choice=Choice.THEIRS), author="ann")
    continue_merge(again(tables), "main", author="ann")
    assert shown(again(tables), "main") == {2: "kip"}


def test_whoever_knew_a_log_before_it_was_redacted_goes_on(tables: Tables) -> None:
    tables.warehouse.put(
        a=tables.entry([tables.block({1: JANE})]), message=f"insert into a values (1, '{JANE}')"
    )
    warehouse = tables.warehouse
    knows = warehouse.repository
    knows.branch("main")
    request = PurgeRequest(relation="shop.b", where="id = 70", redact=(JANE,))
    tables.put(b=tables.entry([tables.block({7: "kim"})]))
    before = [move.seq for move in knows.refs.log("heads", "main")]
    purge(again(tables), request, author="bob")
    assert knows.branch("main") == again(tables).branch("main")
    for repository in (knows, again(tables), knows):
        repository.create_tag(f"t{len(repository.tags())}", warehouse.head(), author="ann")
        warehouse.put(c=tables.entry([tables.block({9: "zoe"})]))
    log = again(tables).refs.log("heads", "main")
    assert len(log) > len(before)
    assert [path for path in holding(again(tables), JANE) if path.startswith("refs/")] == []
    assert check_repository(again(tables)).problems == ()
    repair = plan_log(warehouse.blobs, "refs/heads/main", "main", author="ann")
    assert repair is not None
    assert not repair.is_needed


def test_a_redaction_that_was_killed_is_completed_by_the_next_one(tables: Tables) -> None:
    tables.warehouse.put(a=tables.entry([tables.block({1: JANE})]), message=f"add {JANE}")
    tables.warehouse.run("r1", Status.FAILED, note=f"duplicate key {JANE}")
    clock, stored = tables.warehouse.clock, tables.warehouse.blobs
    assert isinstance(stored, MemoryBlobs)
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'", redact=(JANE,))

    def attempt(blobs: MemoryBlobs) -> None:
        purge(Repository.open(blobs, clock=clock), request, author="bob")

    counting = Mortal(copied(stored, clock))
    attempt(counting)
    for number in range(1, counting.count + 1):
        blobs = copied(stored, clock)
        with pytest.raises(Crash):
            attempt(Mortal(blobs, number))
        assert check_repository(Repository.open(blobs, clock=clock)).problems == ()
        clock.now += 2 * 3_600 * 1_000_000
        attempt(blobs)
        done = Repository.open(blobs, clock=clock)
        assert holding(done, JANE) == []
        assert check_repository(done).problems == ()


@pytest.mark.parametrize(
    ("where", "kind", "match"),
    [
        ("id in (select id from b)", InputError, "can't read other tables"),
        ("nope = 1", InputError, "It has: id, name"),
        ("id = 1; drop table a", InputError, "one condition"),
    ],
)
def test_what_is_no_condition_of_the_table_is_refused(
    tables: Tables, where: str, kind: type[Exception], match: str
) -> None:
    history(tables)
    with pytest.raises(kind, match=match):
        erase(tables, where)


def test_a_table_that_never_was_is_refused(tables: Tables) -> None:
    history(tables)
    with pytest.raises(NotFoundError, match="No branch, tag"):
        purge(again(tables), PurgeRequest(relation="shop.x", where="id = 1"), author="bob")


class Mortal(MemoryBlobs):
    """A store whose process dies before the n-th write or deletion, and stays dead."""

    def __init__(self, inner: MemoryBlobs, dies_at: int = 0) -> None:
        super().__init__()
        self._blobs = inner._blobs
        self._clock = inner._clock
        self._lock = inner._lock
        self.count = 0
        self._dies_at = dies_at
        self._is_dead = False

    def create(self, path: str, data: bytes) -> bool:
        if path == "vcs.json":
            return super().create(path, data)
        return self._done(lambda: super(Mortal, self).create(path, data))

    def create_all(self, blobs: Mapping[str, bytes]) -> set[str]:
        return {path for path, data in blobs.items() if not self.create(path, data)}

    def replace_all(self, blobs: Mapping[str, bytes]) -> None:
        for item in blobs.items():
            self._done(lambda item=item: super(Mortal, self).replace_all(dict([item])))

    def delete(self, path: str) -> None:
        self._done(lambda: super(Mortal, self).delete(path))

    def walk(self, folder: str) -> Iterator[BlobInfo]:
        if self._is_dead:
            raise Crash
        return super().walk(folder)

    def get(self, path: str) -> bytes:
        if self._is_dead:
            raise Crash
        return super().get(path)

    def _done(self, act: Callable[[], object]) -> bool:
        self.count += 1
        self._is_dead |= self.count == self._dies_at
        if self._is_dead:
            raise Crash
        return bool(act())


def copied(blobs: MemoryBlobs, clock: Clock) -> MemoryBlobs:
    copy = MemoryBlobs(clock)
    copy._blobs = dict(blobs._blobs)
    return copy


OLD = {"main": {1: "ann"}, "dev~1": {1: "ann", 2: JANE, 3: "bob", 4: JANE}}
OLD["v1"] = OLD["dev~1"]
NEW = {"main": {1: "ann"}, "dev~1": {1: "ann", 3: "bob"}, "v1": {1: "ann", 3: "bob"}}


def test_a_purge_that_was_killed_at_any_write_is_completed_by_the_next_one(
    tables: Tables,
) -> None:
    history(tables)
    clock, stored = tables.warehouse.clock, tables.warehouse.blobs
    assert isinstance(stored, MemoryBlobs)
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'")

    def attempt(blobs: MemoryBlobs) -> None:
        purge(Repository.open(blobs, clock=clock), request, author="bob")

    counting = Mortal(copied(stored, clock))
    attempt(counting)
    assert counting.count > 30
    for number in range(1, counting.count + 1):
        blobs = copied(stored, clock)
        with pytest.raises(Crash):
            attempt(Mortal(blobs, number))
        left = Repository.open(blobs, clock=clock)
        for revision in ("main", "dev~1", "v1"):
            assert shown(left, revision) in (OLD[revision], NEW[revision])
        assert check_repository(left).problems == ()
        # A purge that was killed counts as running for a while.
        clock.now += 2 * 3_600 * 1_000_000
        attempt(blobs)
        done = Repository.open(blobs, clock=clock)
        assert {name: shown(done, name) for name in NEW} == NEW
        assert holding(done, JANE) == []
        heads = [done.branch(name).head for name in ("main", "dev")]
        assert done.merge_base(*heads) == done.resolve("v1")
        assert check_repository(done).problems == ()


class Busy(MemoryBlobs):
    """A store in which somebody else acts once, just before a file below a folder is created."""

    def __init__(
        self, inner: MemoryBlobs, act: Callable[[], object], folder: str = "refs/heads/main/"
    ) -> None:
        super().__init__()
        self._blobs = inner._blobs
        self._clock = inner._clock
        self._act: Callable[[], object] | None = act
        self._folder = folder

    def create(self, path: str, data: bytes) -> bool:
        if path.startswith(self._folder) and self._act is not None:
            act, self._act = self._act, None
            act()
        return super().create(path, data)


def beside(
    tables: Tables, act: Callable[[], object], folder: str = "refs/heads/main/"
) -> Repository:
    """The repository of a process that stands still before it moves a name, while others act."""
    blobs = tables.warehouse.blobs
    assert isinstance(blobs, MemoryBlobs)
    return Repository.open(Busy(blobs, act, folder), clock=tables.warehouse.clock)


def whole(tables: Tables) -> dict[str, dict[int, str | None]]:
    """What each branch shows, of a repository that is whole and holds nothing of the rows."""
    repository = again(tables)
    assert check_repository(repository, data=DataCheck()).problems == ()
    assert holding(repository, JANE) == []
    return {branch.name: shown(repository, branch.name) for branch in repository.branches()}


def test_nobody_lands_while_a_purge_is_running(tables: Tables) -> None:
    history(tables)
    told = []
    other = tables.warehouse.repository
    other.maintenance.patience = 0

    def land() -> None:
        head = other.branch("main").head
        acts: list[Callable[[], object]] = [
            lambda: tables.put(b=tables.entry([tables.block({8: "kim"})])),
            lambda: other.create_branch("new", head, author="ann"),
            lambda: other.create_tag("t", head, author="ann"),
            lambda: create_snapshot(other, "shop.a", "base", "main", author="ann"),
            lambda: other.delete_branch("dev", author="ann"),
        ]
        for act in acts:
            with pytest.raises(RetryError, match="The purge that bob runs") as error:
                act()
            told.append(str(error.value))

    repository = beside(tables, land, "rewritten/")
    purge(repository, PurgeRequest(relation="shop.a", where=f"name = '{JANE}'"), author="bob")
    assert len(told) == 5
    assert "DBT_VCS_PURGE_WAIT" in told[0]
    assert whole(tables) == {"main": {1: "ann"}, "dev": {1: "ann", 3: "bob"}}
    tables.put(b=tables.entry([tables.block({8: "kim"})]))
    assert shown(again(tables), "main", "b") == {8: "kim"}


def test_who_waits_for_a_purge_lands_after_it(
    tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    history(tables)
    other = Thread(target=lambda: tables.put(b=tables.entry([tables.block({8: "kim"})])))
    with caplog.at_level("WARNING"):
        with again(tables).maintenance.alone("purge shop.a", author="bob"):
            other.start()
            other.join(0.5)
            assert other.is_alive()
        other.join(30)
    assert not other.is_alive()
    assert caplog.text.count("Waiting for the purge that bob runs") == 1
    assert shown(again(tables), "main", "b") == {8: "kim"}


def test_a_merge_planned_before_a_purge_takes_the_new_history(tables: Tables) -> None:
    history(tables)
    repository = beside(tables, lambda: erase(tables))
    merge(repository, "dev", "main", author="ann")
    assert whole(tables)["main"] == {1: "ann"}
    assert shown(again(tables), "main", "c") == {9: "zoe"}


def test_a_merge_whose_files_are_purged_while_it_reads_plans_again(tables: Tables) -> None:
    first = tables.block({1: "ann", 2: JANE, 3: "bob", 4: "kim"})
    one = tables.entry([first])
    tables.put(a=one)
    tables.warehouse.branch("dev")
    tables.put(a=tables.entry([first], [tables.tombstone(first, {0: (1, "ann")})], parents=[one]))
    tombstone = tables.tombstone(first, {2: (3, "bob")})
    tables.put("dev", a=tables.entry([first], [tombstone], parents=[one]))
    store = ReadLate(tables.warehouse.repository.blobs, lambda: erase(tables))
    merge(Repository.open(store, clock=Clock()), "dev", "main", author="ann")
    assert store.is_done
    assert whole(tables)["main"] == {4: "kim"}
    assert holding(again(tables), JANE) == []


@pytest.mark.parametrize("what", ["branch", "tag", "snapshot"])
def test_no_name_is_created_where_a_purge_deleted(tables: Tables, what: str) -> None:
    history(tables)
    space = {"branch": "heads/new", "tag": "tags/new", "snapshot": "snapshots/shop/a/new"}[what]
    repository = beside(tables, lambda: erase(tables), f"refs/{space}/")
    old = repository.resolve("main~1")
    with pytest.raises(RetryError, match="a purge has replaced it"):
        if what == "branch":
            repository.create_branch("new", old, author="ann")
        elif what == "tag":
            repository.create_tag("new", old, author="ann")
        else:
            create_snapshot(repository, "shop.a", "new", old, author="ann")
    whole(tables)
    assert list(repository.blobs.walk("creating")) == []


def test_conflicts_that_were_found_before_a_purge_are_not_kept(tables: Tables) -> None:
    base = tables.entry([tables.block({1: "ann", 2: "kim"})], key=True)
    tables.put(a=base)
    tables.warehouse.branch("dev")
    for branch, name in (("main", "kit"), ("dev", JANE)):
        block = tables.block({1: "ann", 2: name})
        tables.put(branch, a=tables.entry([block], parents=[base], key=True))
    head = again(tables).branch("main").head
    with pytest.raises(ConflictError):
        merge(beside(tables, lambda: erase(tables), "refs/heads/"), "dev", "main", author="ann")
    # The purge leaves the target alone, so that no lost race tells of it.
    assert again(tables).branch("main").head == head
    # Files that were written and are not shown are for a collection.
    tables.warehouse.clock.now += 2 * 24 * 3_600 * 1_000_000
    collect(again(tables), author="gc")
    assert holding(again(tables), JANE) == []


def test_an_export_beside_a_purge_names_nothing_that_is_erased(tables: Tables) -> None:
    history(tables)
    repository = beside(tables, lambda: erase(tables), "iceberg/export/")
    assert export(repository, "main").written == ("shop.a", "shop.b")
    assert whole(tables)["main"] == {1: "ann"}
    later = again(tables)
    files = (info.path for info in later.blobs.walk("iceberg/export"))
    written = [json.loads(later.blobs.get(path)) for path in files if ".metadata." in path]
    named = {shot["summary"]["vcs.snapshot"] for data in written for shot in data["snapshots"]}
    assert named
    assert [id for id in named if not later.objects.with_prefix("snapshot", id)] == []


def test_an_export_waits_for_a_purge(tables: Tables) -> None:
    history(tables)
    other = again(tables)
    other.maintenance.patience = 0
    with (
        again(tables).maintenance.alone("purge shop.a", author="bob"),
        pytest.raises(RetryError, match="The purge that bob runs"),
    ):
        export(other, "main")
    assert list(other.blobs.walk("iceberg")) == []


def test_a_purge_that_others_took_for_dead_changes_nothing_more(tables: Tables) -> None:
    """It stands still for an hour: before its history counts, and after."""
    history(tables)
    clock = tables.warehouse.clock

    def another_hour() -> None:
        clock.now += 3_600 * 1_000_000
        tables.put(b=tables.entry([tables.block({8: "kim"})]))

    stale = beside(tables, another_hour, "refs/maintenance/purge/00000000000000000002")
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'")
    with pytest.raises(RetryError, match=r"took it for dead|lost its lease"):
        purge(stale, request, author="bob")
    assert shown(again(tables), "main~1") == {1: "ann"}
    assert shown(again(tables), "main~2") == {1: "ann", 2: JANE, 3: "bob", 4: JANE}
    actions = [ref.move.action for ref in again(tables).refs.moves("maintenance", "purge")]
    assert actions == ["undone", "begin"]
    assert check_repository(again(tables)).problems == ()
    stale = beside(tables, another_hour, "refs/heads/")
    # The first moves of its own are the fence; a branch made by then is moved later.
    with suppress(RetryError):
        purge(stale, request, author="bob")
    erase(tables)
    assert whole(tables) == {"main": {1: "ann"}, "dev": {1: "ann", 3: "bob"}}


def test_what_a_killed_collection_left_of_history_stops_no_purge(tables: Tables) -> None:
    history(tables)
    repository, clock, stored = (
        tables.warehouse.repository,
        tables.warehouse.clock,
        tables.warehouse.blobs,
    )
    assert isinstance(stored, MemoryBlobs)
    repository.delete_branch("dev", author="ann")
    set_retention(repository, 0, author="ann")
    clock.now += 3 * 24 * 3_600 * 1_000_000
    counting = Mortal(copied(stored, clock))
    collect(Repository.open(counting, clock=clock), author="gc")
    for number in range(1, counting.count + 1):
        blobs = copied(stored, clock)
        with pytest.raises(Crash):
            collect(Repository.open(Mortal(blobs, number), clock=clock), author="gc")
        clock.now += 3_600 * 1_000_000
        request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'")
        purge(Repository.open(blobs, clock=clock), request, author="bob")
        left = Repository.open(blobs, clock=clock)
        assert shown(left, "main") == NEW["main"], number
        assert check_repository(left).problems == ()


@pytest.mark.parametrize("ends_by", ["landing", "gc"])
def test_a_purge_that_was_killed_is_ended_by_whoever_lands_next(
    tables: Tables, ends_by: str
) -> None:
    history(tables)
    clock, stored = tables.warehouse.clock, tables.warehouse.blobs
    assert isinstance(stored, MemoryBlobs)
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'")
    counting = Mortal(copied(stored, clock))
    purge(Repository.open(counting, clock=clock), request, author="bob")
    ends: set[tuple[str, ...]] = set()
    for number in range(1, counting.count + 1):
        blobs = copied(stored, clock)
        with pytest.raises(Crash):
            purge(Repository.open(Mortal(blobs, number), clock=clock), request, author="bob")
        clock.now += 2 * 24 * 3_600 * 1_000_000
        if ends_by == "gc":
            collect(Repository.open(blobs, clock=clock), author="gc")
        other = Repository.open(blobs, clock=clock)
        # The head that is read before the purge is completed is another one after it.
        with suppress(RetryError):
            other.create_tag("t", other.branch("main").head, author="ann")
        other.create_tag("t2", other.branch("main").head, author="ann")
        left = Repository.open(blobs, clock=clock)
        assert left.maintenance.running() is None
        steps = tuple(r.move.action for r in left.refs.moves("maintenance", "purge"))
        ends.add(steps)
        is_done = steps[:1] == ("done",)
        new = (NEW, [], number) if is_done else (OLD, None, number)
        assert {name: shown(left, name) for name in NEW} == new[0], new
        if is_done:
            assert holding(left, JANE) == [], number
        assert check_repository(left, data=DataCheck()).problems == ()
    assert ends >= {("undone", "begin"), ("done", "rewritten", "begin")}


def test_named_snapshots_and_pins_lose_the_rows(tables: Tables) -> None:
    history(tables)
    repository = tables.warehouse.repository
    create_snapshot(repository, "shop.a", "base", "main~1", author="ann")
    old = tables.shown(RelationName("shop", "a"), "main~2").snapshot
    hold(repository, None, [old], author="ann", known=repository.branch("main").head)
    report = erase(tables)
    repository = again(tables)
    [named] = repository.snapshots.all()
    rows = diff(repository, None, repository.objects.snapshot(named.snapshot)).rows.to_pylist()
    assert rows == [{"id": 1, "name": "ann"}, {"id": 3, "name": "bob"}]
    assert "snapshot shop.a base" in report.moved
    assert holding(repository, JANE) == []
    collect(repository, author="ann")


def test_a_pin_that_a_purge_moved_is_collected_as_a_whole(tables: Tables) -> None:
    history(tables)
    repository, clock = tables.warehouse.repository, tables.warehouse.clock
    old = tables.shown(RelationName("shop", "a"), "main~2").snapshot
    hold(repository, None, [old], author="ann", known=repository.branch("main").head)
    clock.now += 2 * 24 * 3_600 * 1_000_000
    erase(tables)
    for left in (1, 0):
        collect(again(tables), author="gc")
        assert len(list(again(tables).refs.read_all("pins"))) == left
        clock.now += 2 * 24 * 3_600 * 1_000_000
    erase(tables, "id = 1")
    assert check_repository(again(tables)).problems == ()


def test_an_old_pin_that_a_purge_moves_holds_nothing_again(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tables.entry([tables.block({1: JANE, 2: "kim"})])
    tables.put(a=one)
    tables.put(a=tables.entry([tables.block({3: JANE, 4: "bob"})], parents=[one]))
    repository, clock = tables.warehouse.repository, tables.warehouse.clock
    set_retention(repository, 0, author="ann")
    old = tables.shown(RelationName("shop", "a"), "main~1").snapshot
    hold(repository, None, [old], author="ann", known=repository.branch("main").head)
    clock.now += 3 * 24 * 3_600 * 1_000_000
    whole = MemoryBlobs.delete

    def dying(blobs: MemoryBlobs, path: str) -> None:
        if path.startswith("refs/pins"):
            raise Crash
        whole(blobs, path)

    # A collection that dies deletes the rows of the pin, and not the pin.
    with monkeypatch.context() as patched, pytest.raises(Crash):
        patched.setattr(MemoryBlobs, "delete", dying)
        collect(again(tables), author="gc")
    clock.now += 2 * 3_600 * 1_000_000
    assert check_repository(again(tables)).problems == ()
    erase(tables)
    assert check_repository(again(tables)).problems == ()
    clock.now += 2 * 3_600 * 1_000_000
    collect(again(tables), author="gc")
    assert check_repository(again(tables)).problems == ()


def test_conflicts_that_wait_lose_the_rows(tables: Tables) -> None:
    base = tables.entry([tables.block({1: "ann", 2: "kim"})], key=True)
    tables.put(a=base)
    tables.warehouse.branch("dev")
    for branch, names in (("main", {1: JANE, 2: "kit"}), ("dev", {1: "anna", 2: "kip"})):
        tables.put(branch, a=tables.entry([tables.block(names)], parents=[base], key=True))
    repository = tables.warehouse.repository
    with pytest.raises(ConflictError):
        merge(repository, "dev", "main", author="ann")
    for row, choice in (("1", Choice.OURS), ("2", Choice.THEIRS)):
        chosen = RowChoice(choice=choice, key={"id": row})
        resolve(repository, "main", "shop.a", chosen, author="ann")
    erase(tables, "id = 1")
    repository = again(tables)
    assert holding(repository, JANE) == []
    continue_merge(repository, "main", author="ann")
    assert shown(repository, "main") == {2: "kip"}


def test_a_decision_beside_a_purge_and_one_taken_back_after_it_bring_no_row_back(
    tables: Tables,
) -> None:
    base = tables.entry([tables.block({1: "ann", 2: "kim"})], key=True)
    tables.put(a=base)
    tables.warehouse.branch("dev")
    for branch, names in (("main", {1: JANE, 2: "kit"}), ("dev", {1: "anna", 2: "kip"})):
        tables.put(branch, a=tables.entry([tables.block(names)], parents=[base], key=True))
    with pytest.raises(ConflictError):
        merge(tables.warehouse.repository, "dev", "main", author="ann")
    racing = beside(tables, lambda: erase(tables, "id = 1"), "refs/heads/merges")
    chosen = RowChoice(choice=Choice.OURS)
    assert resolve(racing, "main", "shop.a", chosen, author="ann").count == 1
    tables.warehouse.clock.now += 2 * 24 * 3_600 * 1_000_000
    collect(again(tables), author="gc")
    assert holding(again(tables), JANE) == []
    assert undo_decision(again(tables), "main", author="ann").left == 1
    assert holding(again(tables), JANE) == []
    assert check_repository(again(tables)).problems == ()


def test_bounds_of_files_that_were_collected_are_erased(tables: Tables) -> None:
    jane = tables.block({1: "ann", 2: JANE})
    stats = {"id": (1, 2, 0), "name": ("ann", JANE, 0)}

    bounded = msgspec.structs.replace(
        jane, stats={key: ColumnStats(*value) for key, value in stats.items()}
    )
    other = msgspec.structs.replace(
        tables.block({5: "eve"}),
        stats={"id": ColumnStats(5, 5, 0), "name": ColumnStats("eve", "eve", 0)},
    )
    one = tables.entry([bounded, other])
    tables.put(a=one)
    tables.put(a=tables.entry([other], parents=[one]))
    blobs = tables.warehouse.blobs
    blobs.delete(jane.path)
    assert holding(again(tables), JANE)
    erase(tables)
    repository = again(tables)
    assert holding(repository, JANE) == []
    assert shown(repository, "main") == {5: "eve"}
    assert erase(tables).commits == 0


def test_a_clone_loses_the_rows_that_it_shares(tables: Tables) -> None:
    history(tables)
    repository = tables.warehouse.repository
    clone_from_snapshot(repository, "shop.a", "shop.n", "main~1", branch="main", author="ann")
    report = erase(tables)
    assert shown(again(tables), "main", "n") == {1: "ann", 3: "bob"}
    assert holding(again(tables), JANE) == []
    assert {name for t in report.tables for name in t.relation.split(", ")} == {
        "shop.a",
        "shop.n",
    }


def test_two_purges_at_once_are_refused(tables: Tables) -> None:
    history(tables)
    repository = tables.warehouse.repository
    repository.blobs.create("leases/others", b"")
    with pytest.raises(RetryError, match="is running"):
        erase(tables)


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    shelf.run("create table t (id bigint, name string)")
    shelf.run("create table u (id bigint)")
    shelf.append("t", id=[1, 2, 3], name=["ann", JANE, "bob"])
    shelf.append("u", id=[1])
    return shelf


def erase_elsewhere(shelf: Shelf) -> None:
    other = Repository.open(shelf.blobs)
    purge(other, PurgeRequest(relation="s.t", where="id = 2"), author="bob")


class ReadLate(Mortal):
    """A store in which others act before the first read of a data file."""

    def __init__(self, inner: MemoryBlobs, act: Callable[[], object]) -> None:
        super().__init__(inner)
        self._act = act
        self.is_done = False

    def get(self, path: str) -> bytes:
        if path.startswith("data/") and not self.is_done:
            self.is_done = True
            self._act()
        return super().get(path)


class Overtaken(Mortal):
    """A store in which others act before the n-th write or deletion."""

    def __init__(self, inner: MemoryBlobs, number: int, act: Callable[[], object]) -> None:
        super().__init__(inner)
        self._number = number
        self._act = act

    def _done(self, act: Callable[[], object]) -> bool:
        if self.count + 1 == self._number:
            self._number = 0
            self._act()
        return super()._done(act)


def people() -> tuple[Shelf, MemoryBlobs]:
    blobs = MemoryBlobs()
    shelf = Shelf(blobs)
    shelf.run("create table t (id bigint, name string)")
    shelf.append("t", id=[1, 2, 3], name=["ann", JANE, "bob"])
    return shelf, blobs


@pytest.mark.parametrize("first", ["purge", "delete"])
def test_a_delete_beside_a_purge_at_any_write_is_kept_or_refused(first: str) -> None:
    request = PurgeRequest(relation="s.t", where="id = 2")
    outcomes = set()
    for number in range(1, 1000):
        shelf, blobs = people()
        deleted = []

        def delete(
            repository: Repository, shelf: Shelf = shelf, done: list[int] = deleted
        ) -> None:
            repository.maintenance.patience = 0
            shelf.repository = repository
            shelf.line = BranchLine(repository, "main", "ann")
            shelf.workspace = Workspace(repository, shelf.line, no_engine, schema="s")
            shelf.connection = shelf.workspace.connect("test")
            with suppress(RetryError, ConflictError):
                shelf.delete("t", (0, 0))
                done.append(1)

        def erase_all(blobs: MemoryBlobs = blobs) -> None:
            purge(Repository.open(blobs), request, author="bob")

        if first == "purge":
            store = Overtaken(blobs, number, lambda blobs=blobs: delete(Repository.open(blobs)))
            purge(Repository.open(store), request, author="bob")
        else:
            store = Overtaken(blobs, number, erase_all)
            delete(Repository.open(store))
            erase_all()
        outcomes.add(bool(deleted))
        last = Repository.open(blobs)
        assert check_repository(last, data=DataCheck()).problems == ()
        shelf.repository = last
        shelf.line = BranchLine(last, "main", "ann")
        shelf.workspace = Workspace(last, shelf.line, no_engine, schema="s")
        assert shelf.rows("t") == ([(3, "bob")] if deleted else [(1, "ann"), (3, "bob")]), number
        if store.count < number:
            break
    assert outcomes == {True, False}


def test_work_begun_before_a_purge_lands_on_the_new_history(shelf: Shelf) -> None:
    overlay = shelf.begin()
    shelf.append("u", overlay, id=[2])
    erase_elsewhere(shelf)
    shelf.line.land(overlay, "append")
    assert shelf.rows("u") == [(1,), (2,)]
    assert shelf.rows("t") == [(1, "ann"), (3, "bob")]
    assert holding(Repository.open(shelf.blobs), JANE) == []


def test_an_insert_begun_before_a_purge_is_added_to_the_new_history(shelf: Shelf) -> None:
    overlay = shelf.begin()
    shelf.append("t", overlay, id=[4], name=["kim"])
    erase_elsewhere(shelf)
    shelf.line.land(overlay, "append")
    assert shelf.rows("t") == [(1, "ann"), (3, "bob"), (4, "kim")]
    assert holding(Repository.open(shelf.blobs), JANE) == []
    assert check_repository(Repository.open(shelf.blobs)).problems == ()


def test_rows_read_before_a_purge_do_not_land_after_it(shelf: Shelf) -> None:
    overlay = shelf.begin()
    read = overlay.require(RelationName("s", "t"))
    assert isinstance(read, TableEntry)
    # One statement reads the table, another one stores what it read.
    scope = shelf.connection.scope("", overlay, Origin())
    scope.note(Input(relation="s.t", snapshot=read.snapshot))
    shelf.append("u", overlay, id=[2])
    erase_elsewhere(shelf)
    with pytest.raises(RetryError, match="a purge has replaced it since the work began"):
        shelf.line.land(overlay, "append")
    assert shelf.rows("u") == [(1,)]


def test_a_change_of_the_purged_table_begun_before_is_refused(shelf: Shelf) -> None:
    overlay = shelf.begin()
    shelf.delete("t", (0, 0), overlay=overlay)
    erase_elsewhere(shelf)
    with pytest.raises(VcsError, match="t"):
        shelf.line.land(overlay, "delete")
    shelf.delete("t", (0, 0))
    assert shelf.rows("t") == [(3, "bob")]
    assert check_repository(Repository.open(shelf.blobs)).problems == ()


def test_a_statement_whose_files_are_purged_meanwhile_is_to_be_run_again(shelf: Shelf) -> None:
    shelf.append("t", id=[4], name=["kim"])
    overlay = shelf.begin()
    erase_elsewhere(shelf)
    with pytest.raises(RetryError, match=r"a purge has replaced it.*Run it again\.") as found:
        shelf.connection.execute("optimize t", overlay, origin=Origin())
    assert "There is no file data/" in str(found.value.__cause__)
    shelf.connection.execute("optimize t", shelf.begin(), origin=Origin())
    # What no purge has taken is missing, and running it again helps nobody.
    shelf.append("t", id=[5], name=["lee"])
    for info in list(shelf.blobs.walk("data")):
        shelf.blobs.delete(info.path)
    with pytest.raises(NotFoundError, match="There is no file data/"):
        shelf.connection.execute("optimize t", shelf.begin(), origin=Origin())


@pytest.mark.parametrize("column", ["name", "email"])
def test_a_column_is_found_under_the_names_that_it_had(tables: Tables, column: str) -> None:
    one = tables.entry([tables.block({1: "ann", 2: JANE})])
    tables.put(a=one)
    two = tables.renamed(tables.entry([tables.block({3: JANE, 4: "bob"})]), "name", "email")
    tables.put(a=two)
    report = erase(tables, f"{column} = '{JANE}'")
    assert (report.unread_versions, report.rows) == (0, 2)
    assert holding(again(tables), JANE) == []
    assert shown(again(tables), "main~1") == {1: "ann"}


def test_rows_of_a_dropped_column_are_found_by_the_versions_that_have_it(tables: Tables) -> None:
    objects = tables.warehouse.repository.objects
    one = tables.entry([tables.block({1: "ann", 2: JANE})])
    tables.put(a=one)
    before = objects.snapshot(one.snapshot)
    after = msgspec.structs.replace(
        before, schema=before.schema.drop(["name"]), parents=(one.snapshot,)
    )
    tables.put(a=TableEntry(snapshot=SnapshotId(objects.put(after))))
    assert erase(tables).unread_versions == 1
    assert holding(again(tables), JANE) == []
    entry = again(tables).tree(again(tables).resolve("main")).entry(RelationName("shop", "a"))
    assert isinstance(entry, TableEntry)
    assert again(tables).objects.snapshot(entry.snapshot).rows == 1


def test_nothing_that_was_remembered_of_statements_is_left(tables: Tables) -> None:
    history(tables)
    results = Results(tables.warehouse.blobs)
    text = f"select * from shop.a where name = '{JANE}'"
    results.put("ab" * 32, Result(kind="answer", rows=f'[["{JANE}"]]', statement=text))
    results.put("cd" * 32, Result(kind="answer", rows="[]"))
    assert erase(tables, dry_run=True).results == results.count() == 2
    assert erase(tables).results == 2
    assert holding(tables.warehouse.repository, JANE) == []
    # A purge that died before it forgot them is completed by the next one.
    results.put("ab" * 32, Result(kind="answer", rows=f'[["{JANE}"]]', statement=text))
    assert erase(tables).results == 1
    assert results.count() == 0


def test_why_a_node_was_computed_is_redacted_and_reported(tables: Tables) -> None:
    history(tables)
    nodes = (NodeRun(id="model.x.y", status="success", refused=f"`select '{JANE}'`: a moment"),)
    tables.warehouse.put(n="1", run=Run(invocation="i", command="run", nodes=nodes))
    assert any(place.startswith("the run of commit") for place in erase(tables).mentions)
    request = PurgeRequest(relation="shop.a", where=f"name = '{JANE}'", redact=[JANE])
    assert purge(again(tables), request, author="bob").mentions == ()
    assert holding(again(tables), JANE) == []
