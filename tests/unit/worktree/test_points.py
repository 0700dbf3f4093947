"""Points: what each way to name a version means, and what is refused."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.core.errors import InputError, NotFoundError
from dbt.adapters.vcs.core.model import RelationName
from dbt.adapters.vcs.sql.syntax.names import At
from dbt.adapters.vcs.workspace.points import Point, TableText, find_point, find_points
from tests.unit.shelf import Shelf

T = RelationName("s", "t")


@pytest.fixture
def shelf() -> Shelf:
    """`main` has t with one row, then two; `dev` forked between them; t2 is only on main."""
    shelf = Shelf()
    shelf.run("create table s.t (id bigint)")
    shelf.append("t", id=[1])
    repository = shelf.repository
    repository.create_branch("dev", repository.resolve("main"), author="ann")
    repository.snapshots.create(
        T, "first", shown(shelf, "dev"), at=repository.resolve("dev"), author="ann"
    )
    shelf.append("t", id=[2])
    shelf.run("create table s.t2 (id bigint)")
    return shelf


def shown(shelf: Shelf, revision: str, name: RelationName = T) -> str:
    repository = shelf.repository
    return repository.tree(repository.resolve(revision)).entry(name).snapshot


def found(shelf: Shelf, version: str | None, name: RelationName = T) -> Point:
    at = None if version is None else At(kind="version", value=version)
    return find_point(shelf.begin(), name, at, lambda: "UTC")


@pytest.mark.parametrize(
    ("version", "revision"),
    [
        (None, "main"),
        ("main", "main"),
        ("dev", "dev"),
        ("first", "dev"),
        ("main~2", "dev"),
        ("dev...", "dev"),
        ("main...", "main"),
        ("{now}", "main"),
    ],
)
def test_a_version(shelf: Shelf, version: str | None, revision: str) -> None:
    point = found(shelf, version)
    assert point == Point(T, shown(shelf, revision), is_named=version is not None)
    assert point.input().snapshot == point.id
    assert point.input().pinned == (version is not None)


def test_what_the_branch_shows_is_what_the_statement_left(shelf: Shelf) -> None:
    overlay = shelf.begin()
    shelf.append("t", overlay, id=[3])
    point = find_point(overlay, T, None, lambda: "UTC")
    assert point.id != shown(shelf, "main")
    assert point.snapshot(overlay).rows == 3


def test_a_table_that_was_not_there_at_the_merge_base_had_no_rows(shelf: Shelf) -> None:
    point = found(shelf, "dev...", RelationName("s", "t2"))
    assert point.id is None
    assert point.input() is None
    assert point.snapshot(shelf.begin()) is None


def test_a_table_that_one_version_lacks_had_no_rows(shelf: Shelf) -> None:
    t2 = RelationName("s", "t2")
    dev = At(kind="version", value="dev")
    old, new = find_points(shelf.begin(), TableText(t2, dev), TableText(t2, None), lambda: "UTC")
    assert (old.id, new.id) == (None, shown(shelf, "main", t2))
    for texts in (
        (TableText(t2, dev), TableText(T, None)),
        (TableText(t2, dev), TableText(t2, dev)),
        (TableText(t2, At(kind="version", value="dve")), TableText(t2, None)),
    ):
        with pytest.raises(NotFoundError):
            find_points(shelf.begin(), *texts, lambda: "UTC")


@pytest.mark.parametrize(
    ("version", "name", "error", "words"),
    [
        ("dve", T, NotFoundError, "Did you mean 'dev'"),
        ("dve...", T, NotFoundError, "dev"),
        ("dev", RelationName("s", "t2"), NotFoundError, "no table s.t2 at 'dev'"),
        (None, RelationName("s", "nope"), NotFoundError, "no table or view s.nope"),
        ("{soon}", T, InputError, "'soon' is no time"),
        ("{1999-01-01}", T, NotFoundError, "begins after 1999-01-01"),
    ],
)
def test_no_such_version(
    shelf: Shelf, version: str | None, name: RelationName, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        found(shelf, version, name)
