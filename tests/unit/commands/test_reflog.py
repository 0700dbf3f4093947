import os

import pytest

from dbt.adapters.vcs.commands.layout import plain_lines
from dbt.adapters.vcs.commands.reflog import read_reflog, reflog_text
from dbt.adapters.vcs.commands.tag import create_tag, delete_tag
from dbt.adapters.vcs.core.branches import Protection
from dbt.adapters.vcs.core.errors import DamagedError, InputError, NotFoundError
from tests.unit.warehouse import Warehouse


def test_the_reflog_lists_moves_newest_first_with_who_made_them_where(
    warehouse: Warehouse,
) -> None:
    first = warehouse.head()
    second = warehouse.put(a="1")
    warehouse.repository.protect("main", Protection(), author="bob")
    entries = list(read_reflog(warehouse.repository, "main"))
    assert [(entry.ref, entry.action) for entry in entries] == [
        ("main@{0}", "state"),
        ("main@{0}", "commit"),
        ("main@{1}", "create"),
    ]
    assert [entry.commit for entry in entries] == [second, second, first]
    assert [entry.author for entry in entries] == ["bob", "ann", "ann"]
    assert entries[0].note == "protect"
    assert {entry.pid for entry in entries} == {os.getpid()}
    assert all(entry.host and entry.version for entry in entries)
    moments = [entry.at for entry in entries]
    assert moments == sorted(moments, reverse=True)
    assert list(read_reflog(warehouse.repository, "main", limit=2)) == entries[:2]
    for entry in entries:
        assert warehouse.repository.resolve(entry.ref) == entry.commit


def test_a_deleted_branch_and_a_deleted_tag_have_a_reflog(warehouse: Warehouse) -> None:
    warehouse.branch("dev")
    create_tag(warehouse.repository, "v1", "main", author="ann")
    warehouse.repository.delete_branch("dev", author="bob")
    delete_tag(warehouse.repository, "v1", author="bob")
    for name in ("dev", "v1"):
        gone, made = read_reflog(warehouse.repository, name)
        assert (gone.ref, gone.action, gone.commit) == (f"{name}@{{0}}", "delete", None)
        assert (made.action, made.commit) == ("create", warehouse.head())
        lines = plain_lines(reflog_text([gone, made], gone.at))
        assert lines[0].startswith(f"{'-' * 12} {name}@{{0}}: delete  bob on {gone.host} (pid")


def test_a_name_that_exists_comes_before_one_that_was_deleted(warehouse: Warehouse) -> None:
    create_tag(warehouse.repository, "x", "main", author="ann")
    delete_tag(warehouse.repository, "x", author="ann")
    warehouse.branch("x")
    assert [entry.action for entry in read_reflog(warehouse.repository, "x")] == ["create"]
    assert len(list(read_reflog(warehouse.repository, "tags/x"))) == 2
    assert len(list(read_reflog(warehouse.repository, "heads/x"))) == 1


def test_a_name_that_never_was_has_no_reflog(warehouse: Warehouse) -> None:
    with pytest.raises(NotFoundError, match="Did you mean 'main'"):
        list(read_reflog(warehouse.repository, "mian"))
    with pytest.raises(InputError, match="limit"):
        list(read_reflog(warehouse.repository, "main", limit=0))


def test_a_move_that_does_not_follow_the_one_before_is_told_by_the_reflog(
    warehouse: Warehouse,
) -> None:
    for number in range(3):
        warehouse.put(a=str(number))
    paths = [f"refs/heads/main/{number:020d}" for number in (2, 3)]
    earlier, later = (warehouse.blobs.get(path) for path in paths)
    assert earlier != later
    warehouse.blobs.delete(paths[1])
    warehouse.blobs.create(paths[1], earlier)
    with pytest.raises(DamagedError, match=paths[1]):
        list(read_reflog(warehouse.repository, "main"))
