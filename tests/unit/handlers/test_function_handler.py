"""Functions among the relations of a branch: listed, merged, and kept by a collection."""

import pytest

from dbt.adapters.vcs.changes.diffs.summaries import list_changes
from dbt.adapters.vcs.commands.diff import read_diff
from dbt.adapters.vcs.commands.fsck import check_repository
from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.commands.status import read_status
from dbt.adapters.vcs.core.errors import ConflictError, InputError
from dbt.adapters.vcs.core.ids import FunctionId
from dbt.adapters.vcs.core.model import Entry, Function, FunctionEntry, Origin, RelationName
from dbt.adapters.vcs.core.repository import Repository
from dbt.adapters.vcs.workspace.lines.line_workspace import Workspace
from dbt.adapters.vcs.workspace.lines.lines import BranchLine
from dbt.adapters.vcs.workspace.points import find_version
from tests.unit.fake_engine import FakeEngine
from tests.unit.warehouse import Warehouse


def function(warehouse: Warehouse, text: str) -> Entry:
    made = Function(text=text, returns="int")
    return FunctionEntry(function=FunctionId(warehouse.repository.objects.put(made)))


def test_what_is_told_of_a_function(warehouse: Warehouse) -> None:
    before = warehouse.put(a="1")
    after = warehouse.put(f=function(warehouse, "1"))
    changed = warehouse.put(f=function(warehouse, "2"))
    assert [str(item) for item in list_changes(warehouse.repository, before, after)] == [
        "  added    function shop.f"
    ]
    assert [
        (item.name, item.kind, item.how)
        for item in read_diff(warehouse.repository, [after, changed], branch="main").relations
    ] == [("shop.f", "function", "changed")]
    contents = read_status(warehouse.repository, "main").contents
    assert contents is not None
    assert (contents.tables, contents.views, contents.functions) == (1, 0, 1)


def test_a_function_that_both_sides_changed_is_a_conflict(warehouse: Warehouse) -> None:
    warehouse.put(f=function(warehouse, "1"), g=function(warehouse, "1"))
    warehouse.branch("feature")
    warehouse.put("feature", f=function(warehouse, "2"), g=function(warehouse, "2"))
    warehouse.put(g=function(warehouse, "2"))
    merge(warehouse.repository, "feature", "main", author="bob")
    assert warehouse.shown()["shop.f"] == function(warehouse, "2")
    warehouse.put("feature", f=function(warehouse, "3"))
    warehouse.put(f=function(warehouse, "4"))
    with pytest.raises(ConflictError, match=r"shop\.f"):
        merge(warehouse.repository, "feature", "main", author="bob")
    assert warehouse.shown()["shop.f"] == function(warehouse, "4")


def test_a_lost_function_is_found(warehouse: Warehouse) -> None:
    entry = function(warehouse, "1")
    assert isinstance(entry, FunctionEntry)
    warehouse.put(f=entry)
    assert check_repository(warehouse.repository).problems == ()
    path = f"objects/function/{entry.function[:2]}/{entry.function}"
    warehouse.blobs.delete(path)
    problems = check_repository(Repository.open(warehouse.blobs)).problems
    assert any(entry.function in problem for problem in problems)


def test_versions_are_of_tables(warehouse: Warehouse) -> None:
    warehouse.put(f=function(warehouse, "1"))
    with pytest.raises(InputError, match=r"shop\.f is a function .*; versions are of tables"):
        find_version(warehouse.repository, RelationName("shop", "f"), "main")


def test_if_not_exists_is_no_silence_about_something_else(warehouse: Warehouse) -> None:
    warehouse.put(t="1", f=function(warehouse, "1"))
    line = BranchLine(warehouse.repository, "main", "ann")
    engine = FakeEngine(warehouse.blobs)
    connection = Workspace(warehouse.repository, line, lambda: engine, schema="shop").connect("t")
    overlay = connection.workspace.begin()

    def run(text: str) -> None:
        connection.execute(text, overlay, origin=Origin())

    run("create function if not exists f() returns int return 2")
    run("create view if not exists t as select * from shop.t")
    with pytest.raises(
        InputError, match=r"shop\.t is a table\. Drop it first: drop table shop\.t"
    ):
        run("create function if not exists t() returns int return 2")
    for text in (
        "create table if not exists f (id int)",
        "create view if not exists f as table t",
    ):
        with pytest.raises(InputError, match=r"shop\.f is a function\. Drop it first"):
            run(text)
    assert overlay.is_empty


def test_a_statement_that_fails_in_any_way_leaves_the_branch_as_it_was(
    warehouse: Warehouse,
) -> None:
    warehouse.put(t="1")
    line = BranchLine(warehouse.repository, "main", "ann")
    engine = FakeEngine(warehouse.blobs)
    connection = Workspace(warehouse.repository, line, lambda: engine, schema="shop").connect("t")
    overlay = connection.workspace.begin()
    # The engine of the tests has no views and no functions.
    for text in ("create view v as select * from shop.t", "create function f() return 1"):
        with pytest.raises(NotImplementedError):
            connection.execute(text, overlay, origin=Origin())
    assert overlay.is_empty
