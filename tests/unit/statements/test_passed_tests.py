"""What manifests answer of dbt's tests, beside changes on another branch."""

import pytest

from dbt.adapters.vcs.commands.merge import merge
from dbt.adapters.vcs.core.errors import ConflictError
from tests.unit.shelf import Shelf

COUNT = "count(*) != 0"
HEAD = f"select count(*) as failures, {COUNT} as should_warn, {COUNT} as should_error from "
NOT_NULL = f"{HEAD}( select a from s.t where a is null ) dbt_internal_test"
UNIQUE = (
    f"{HEAD}( select id as unique_field, count(*) as n_records from s.t where id is not null "
    "group by id having count(*) > 1 ) dbt_internal_test"
)
PASSED = [(0, False, False)]


def answered(shelf: Shelf, query: str) -> bool:
    """Return whether a test is answered here; a shelf has no engine to ask."""
    try:
        rows = shelf.run(query).rows
    except AssertionError:
        return False
    assert rows is not None
    assert rows.fetch() == PASSED
    return True


def two_branches(columns: str) -> tuple[Shelf, Shelf]:
    main = Shelf()
    main.run(f"create table t ({columns})")
    main.append("t", id=[1], a=[1])
    main.repository.create_branch("dev", main.line.head(), author="ann")
    return main, Shelf.of(main.repository, "dev")


def test_a_key_of_one_branch_says_nothing_of_the_rows_of_another() -> None:
    main, dev = two_branches("id bigint, a bigint")
    dev.run("alter table t add constraint k primary key (id)")
    main.append("t", id=[1], a=[5])
    assert answered(dev, UNIQUE)
    assert not answered(main, UNIQUE)
    with pytest.raises(ConflictError, match="primary key that rows break"):
        merge(main.repository, "dev", "main", author="ann")
    assert not answered(main, UNIQUE)


def test_a_null_that_comes_by_a_merge_is_not_overlooked() -> None:
    main, dev = two_branches("id bigint, a bigint, primary key (id)")
    dev.append("t", id=[2], a=[None])
    main.append("t", id=[3], a=[3])
    assert answered(main, NOT_NULL)
    assert not answered(dev, NOT_NULL)
    merge(main.repository, "dev", "main", author="ann")
    assert not answered(main, NOT_NULL)
    assert answered(main, UNIQUE)
