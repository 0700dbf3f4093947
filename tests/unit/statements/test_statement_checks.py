"""Check constraints in statements, and the properties that store them."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.changes.writes.checks import checks_of, columns_named
from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.core.model import Field, Schema
from dbt.adapters.vcs.sql.alter import AddCheck, DropConstraint
from dbt.adapters.vcs.sql.create_table import CreateTable
from dbt.adapters.vcs.sql.syntax.clauses import Check, check_properties
from dbt.adapters.vcs.sql.syntax.parser import parse


def created(elements: str) -> dict[str, str]:
    statement = parse(f"create table s.Orders ({elements})")
    assert isinstance(statement, CreateTable)
    return checks_of(statement.properties)


@pytest.mark.parametrize(
    ("elements", "checks"),
    [
        ("id int check (id > 0)", {"id_check": "id > 0"}),
        ("`A b` int not null check(`A b` > 0)", {"a b_check": "`A b` > 0"}),
        ("id int constraint Up check (id > 0) comment 'c'", {"up": "id > 0"}),
        ("id int check (id > 0) check (id < 9)", {"id_check": "id > 0", "id_check_2": "id < 9"}),
        ("id int, check ((id > 0) and f(id, 1))", {"orders_check": "(id > 0) and f(id, 1)"}),
        ("id int, constraint c check (v in ('(', ',')) enforced rely", {"c": "v in ('(', ',')"}),
        ("id int, check (id > 0 -- not (1\n)", {"orders_check": "id > 0 -- not (1"}),
        ("id int default 1 check (id > 0), primary key (id)", {"id_check": "id > 0"}),
    ],
)
def test_constraints_of_a_new_table(elements: str, checks: dict[str, str]) -> None:
    assert created(elements) == checks


def test_a_constraint_stands_beside_other_properties() -> None:
    statement = parse("create table t (id int check (id > 0)) tblproperties ('a' = 'b')")
    assert isinstance(statement, CreateTable)
    assert statement.properties == {"a": "b", "vcs.check.id_check": "id > 0"}


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("create table t (id int check ())", InputError, "no condition"),
        ("create table t (id int check id > 0)", InputError, "Expected '\\('"),
        ("create table t (id int check (id > 0)", InputError, "Expected '\\)'"),
        ("create table t (id int check (id > 0) not enforced)", UnsupportedError, "is enforced"),
        (
            "create table t (id int, constraint c check (id > 0), constraint C check (id > 1))",
            InputError,
            "Two constraints are called C",
        ),
        ("alter table t add column v int check (v > 0)", UnsupportedError, "add constraint"),
        ("alter table t add constraint c", UnsupportedError, "not supported"),
    ],
)
def test_what_is_refused(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        parse(text)


def test_constraints_are_added_and_dropped() -> None:
    added = parse("alter table s.t add constraint `a b` check (id > 0)")
    assert isinstance(added, AddCheck)
    assert added.check == Check(name="a b", expression="id > 0")
    unnamed = parse("alter table t add check (id > 0) enforced")
    assert isinstance(unnamed, AddCheck)
    assert unnamed.check.name is None
    for text, if_exists in (("c", False), ("if exists c", True), ("if exists c cascade", True)):
        dropped = parse(f"alter table t drop constraint {text}")
        assert isinstance(dropped, DropConstraint)
        assert (dropped.name, dropped.if_exists) == ("c", if_exists)


def test_a_given_name_and_one_that_is_made_up_stay_apart() -> None:
    named = Check(name="v_check", expression="v > 0")
    unnamed = Check(name=None, expression="v > 1")
    assert checks_of(check_properties([("v", named), ("v", unnamed), ("v", unnamed)])) == {
        "v_check": "v > 0",
        "v_check_2": "v > 1",
        "v_check_3": "v > 1",
    }


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("ID > 0", ["id"]),
        ("`a b` = 'id' -- id", ["A b"]),
        ("length(t.id) > `A B`", ["id", "A b"]),
        ("true", []),
    ],
)
def test_columns_that_a_condition_names(expression: str, names: list[str]) -> None:
    schema = Schema.of([Field(id="", name=name, type="int") for name in ("id", "A b")])
    assert [field.name for field in columns_named(expression, schema)] == names
