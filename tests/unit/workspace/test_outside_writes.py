"""Statements that write files: never over the repository, and nowhere if nothing may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.vcs.core.errors import ReadOnlyError, UnsupportedError
from dbt.adapters.vcs.core.model import Origin
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.core.store.local import LocalBlobs
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine, Line, PinnedLine
from tests.unit.fake_engine import FakeEngine, FakeRows, FakeSession


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "wh").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "wh")
    return Repository.create(LocalBlobs(tmp_path / "wh"), author="ann")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches the engine, which answers everything with no rows."""
    texts: list[str] = []

    def query(self: FakeSession, text: str) -> FakeRows:
        texts.append(text)
        return FakeRows(None)

    monkeypatch.setattr(FakeSession, "query", query)
    return texts


def run(repository: Repository, text: str, line: Line | None = None, **options: bool) -> None:
    line = line or BranchLine(repository, "main", "ann")
    blobs = repository.blobs
    workspace = Workspace(repository, line, lambda: FakeEngine(blobs), schema="default")
    connection = workspace.connect("test")
    connection.execute(text, workspace.begin(), origin=Origin(), **options)


@pytest.mark.parametrize(
    "text",
    [
        "insert overwrite directory '{root}/refs/heads' using csv select 1",
        "insert overwrite local directory '{root}/refs/heads' stored as orc select 1",
        "insert overwrite directory '{root}' select 1",
        "insert overwrite directory '{parent}' using csv select 1",
        "insert overwrite directory 'file:{root}/data' using csv select 1",
        'insert overwrite directory "file://{root}/data" using csv select 1',
        "insert overwrite directory '{parent}/link/new' using csv select 1",
        "insert overwrite directory using csv options (header 'true', path '{root}/x') select 1",
        "insert overwrite directory using csv options ('PATH' = '{root}/x') (select 1)",
        "with c as (select 1 as directory) insert overwrite directory '{root}/x' select * from c",
        "from range(2) insert overwrite directory '{root}/x' select *",
        "create table other.s.t (a int) using csv location '{root}/data/t'",
        "create table other.s.t using csv options (path '{root}/data/t') as select 1 as a",
        "alter table other.s.t set location '{root}/data'",
        "create schema other.s location '{root}/data'",
        "call other.system.remove_orphan_files(table => 's.t', location => '{root}')",
        "call other.system.snapshot('s.t', 's.u', '{parent}/link')",
        "convert to delta parquet.`{root}/data/t`",
    ],
)
def test_no_statement_writes_to_a_place_of_the_repository(
    repository: Repository, sent: list[str], tmp_path: Path, text: str
) -> None:
    with pytest.raises(UnsupportedError, match="is there: its files would be overwritten"):
        run(repository, text.format(root=tmp_path / "wh", parent=tmp_path))
    assert sent == []


@pytest.mark.parametrize(
    "text",
    [
        "insert overwrite directory '{parent}/out' using csv options (sep '/') select 1",
        "insert overwrite directory '{parent}/out' using csv select '{root}' as path",
        "insert overwrite directory 's3a://bucket/out' using csv select 1",
        "create table other.s.t using csv options (sep '/') as select 1 as a",
        "select * from parquet.`{root}/data/t`",
        "explain insert overwrite directory '{root}/refs' select 1",
    ],
)
def test_what_writes_elsewhere_or_only_reads_goes_to_the_engine(
    repository: Repository, sent: list[str], tmp_path: Path, text: str
) -> None:
    text = text.format(root=tmp_path / "wh", parent=tmp_path)
    run(repository, text)
    assert sent == [text]


def test_a_place_is_looked_at_as_the_engine_completes_it(
    repository: Repository, sent: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeSession, "place", lambda self, at: f"file:{tmp_path}/wh/{at}")
    with pytest.raises(UnsupportedError, match="would write to refs"):
        run(repository, "insert overwrite directory 'refs' using csv select 1")
    assert sent == []


@pytest.mark.parametrize(
    "text",
    [
        "insert overwrite directory '{parent}/out' using csv select 1",
        "from range(2) insert overwrite directory '{parent}/out' select *",
        "create table other.s.t as select 1 as a",
        "insert into other.s.t select 1",
        "delete from other.s.t",
        "drop table other.s.t",
        "call other.system.expire_snapshots('s.t')",
        "${{words}} select 1",
    ],
)
@pytest.mark.parametrize("how", ["command", "commit"])
def test_a_connection_that_only_reads_writes_nowhere(
    repository: Repository, sent: list[str], tmp_path: Path, text: str, how: str
) -> None:
    head = repository.branch("main").head
    pinned = PinnedLine(lambda: head, "it shows a commit")
    line, options = (None, {"read_only": True}) if how == "command" else (pinned, {})
    with pytest.raises(ReadOnlyError, match="only reads"):
        run(repository, text.format(parent=tmp_path), line, **options)
    assert sent == []


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "set spark.x = 1",
        "set",
        "declare variable v int default 1",
        "explain select 1",
        "cache table c as select 1",
        "refresh '/tmp'",
        "create temporary function f as 'com.example.F'",
        "drop temporary variable v",
        "describe table other.s.t",
        "show tables in other.s",
        "analyze table other.s.t compute statistics",
    ],
)
def test_a_connection_that_only_reads_may_change_its_session(
    repository: Repository, sent: list[str], text: str
) -> None:
    run(repository, text, read_only=True)
    assert sent == [text]


def test_no_rows_are_added_to_a_temporary_view(
    repository: Repository, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Spark would write to the files that the view was made of, wherever they are.
    monkeypatch.setattr(FakeSession, "temporary_views", lambda self: frozenset({"v"}))
    workspace = Workspace(
        repository,
        BranchLine(repository, "main", "ann"),
        lambda: FakeEngine(repository.blobs),
        schema="default",
    )
    connection = workspace.connect("test")
    connection.session()
    for text in ("insert into v select 1", "insert overwrite table v select 1"):
        with pytest.raises(UnsupportedError, match="temporary view here"):
            connection.execute(text, workspace.begin(), origin=Origin())
    assert sent == []
