"""`alter` and `comment on` in their forms."""

from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError, UnsupportedError
from dbt.adapters.vcs.sql.alter import AlterColumn
from dbt.adapters.vcs.sql.syntax.parser import SparkCommand, parse
from tests.unit.statements.statement_shapes import column, of, parsed

ALTERS: dict[str, tuple[str, Any]] = {
    "rename table": (
        "alter table a.t rename to a.u",
        of("RenameRelation", kind="table", target="a.t", new="a.u"),
    ),
    "rename view": (
        "alter view v rename to `w`",
        of("RenameRelation", kind="view", target="v", new="w"),
    ),
    "add columns": (
        "alter table t add columns (`a` int not null comment 'x', b map<string,int> default null)",
        of(
            "AddColumns",
            target="t",
            columns=(
                column("a", "int", nullable=False, comment="x"),
                column("b", "map<string,int>", default="null"),
            ),
        ),
    ),
    "add columns as dbt does": (
        "alter table s.t\n\n  add columns\n  `a` string,`b` decimal(10, 2)\n",
        of(
            "AddColumns",
            target="s.t",
            columns=(column("a", "string"), column("b", "decimal(10,2)")),
        ),
    ),
    "add a column with a place": (
        "alter table t add column a int first, b string after `a`",
        of(
            "AddColumns",
            target="t",
            columns=(
                column("a", "int", position=of("Position", place="first")),
                column("b", "string", position=of("Position", place="after", column="a")),
            ),
        ),
    ),
    "dbt's snapshot columns": (
        "alter table t add columns (\n `dbt_valid_to` timestamp,`x` string\n);",
        of(
            "AddColumns",
            target="t",
            columns=(column("dbt_valid_to", "timestamp"), column("x", "string")),
        ),
    ),
    "rename column": (
        "alter table t rename column `a b` to c",
        of("RenameColumn", target="t", column="a b", new="c"),
    ),
    "drop column": (
        "alter table t drop column a",
        of("DropColumns", target="t", columns=("a",)),
    ),
    "drop columns": (
        "alter table t drop columns if exists (a, `b`)",
        of("DropColumns", target="t", columns=("a", "b"), if_exists=True),
    ),
    "drop columns without parentheses": (
        "alter table t drop columns a, b",
        of("DropColumns", target="t", columns=("a", "b")),
    ),
    "column type": (
        "alter table t alter column a type BIGINT;",
        of("AlterColumn", target="t", column="a", type="bigint"),
    ),
    "column without the word": (
        "alter table t alter a type bigint",
        of("AlterColumn", target="t", column="a", type="bigint"),
    ),
    "column comment": (
        "alter table t change column `a` comment 'it\\'s';",
        of("AlterColumn", target="t", column="a", comment="it's"),
    ),
    "set not null": (
        "alter table t change column a set not null ;",
        of("AlterColumn", target="t", column="a", nullable=False),
    ),
    "drop not null": (
        "alter table t alter column a drop not null",
        of("AlterColumn", target="t", column="a", nullable=True),
    ),
    "set default": (
        "alter table t alter column a set default concat('a', 'b')",
        of("AlterColumn", target="t", column="a", default="concat('a', 'b')"),
    ),
    "drop default": (
        "alter table t alter column a drop default",
        of("AlterColumn", target="t", column="a", default=""),
    ),
    "a position after a default": (
        "alter table t add columns (m int default 7 after k, n string default 'after' first)",
        of(
            "AddColumns",
            target="t",
            columns=(
                column(
                    "m", "int", default="7", position=of("Position", place="after", column="k")
                ),
                column("n", "string", default="'after'", position=of("Position", place="first")),
            ),
        ),
    ),
    "move first": (
        "alter table t alter column a first",
        of(
            "AlterColumn",
            target="t",
            column="a",
            position=of("Position", place="first"),
        ),
    ),
    "move behind": (
        "alter table t change a after b",
        of(
            "AlterColumn",
            target="t",
            column="a",
            position=of("Position", place="after", column="b"),
        ),
    ),
    "hive's change": (
        "alter table t change column A a bigint comment 'x' after b",
        of(
            "AlterColumn",
            target="t",
            column="A",
            type="bigint",
            comment="x",
            position=of("Position", place="after", column="b"),
        ),
    ),
    "set tblproperties": (
        "alter table t set tblproperties ('comment' = 'c', a.b = 1)",
        of("SetProperties", kind="table", target="t", properties={"comment": "c", "a.b": "1"}),
    ),
    "set tblproperties of a view": (
        "alter view s.v set tblproperties ('a' = 'b')",
        of("SetProperties", kind="view", target="s.v", properties={"a": "b"}),
    ),
    "unset tblproperties": (
        "alter table t unset tblproperties if exists ('a', b.c)",
        of("UnsetProperties", kind="table", target="t", keys=("a", "b.c"), if_exists=True),
    ),
    "add primary key of columns with commas": (
        "alter table t add primary key (`a,b`, c)",
        of("SetProperties", kind="table", target="t", properties={"primary_key": "`a,b`, c"}),
    ),
    "add primary key": (
        "alter table t add constraint pk primary key (a, `b c`) not enforced",
        of("SetProperties", kind="table", target="t", properties={"primary_key": "a, b c"}),
    ),
    "drop primary key": (
        "alter table t drop primary key if exists",
        of("UnsetProperties", kind="table", target="t", keys=("primary_key",), if_exists=True),
    ),
    "set properties of a schema": (
        "alter schema s set dbproperties ('a' = 'b')",
        of("SetSchemaProperties", name="s", properties={"a": "b"}),
    ),
    "remove properties of a schema": (
        "alter database s unset dbproperties ('a', b.c)",
        of("SetSchemaProperties", name="s", properties={}, removed=("a", "b.c")),
    ),
    "identifier of a column": (
        "alter table t rename column identifier('c') to identifier('`d e`')",
        of("RenameColumn", target="t", column="c", new="d e"),
    ),
    "comment on table": (
        'comment on table s.t is "say ""hi"""',
        of("CommentOnTable", target="s.t", comment='say "hi"'),
    ),
    "no comment on table": (
        "comment on table t is null",
        of("CommentOnTable", target="t", comment=None),
    ),
    "comment on schema": (
        "comment on database s is 'x'",
        of("CommentOnSchema", name="s", comment="x"),
    ),
    "comment on column": (
        "comment on column s.t.c is 'x'",
        of("AlterColumn", target="s.t", column="c", comment="x"),
    ),
    "no comment on column": (
        "comment on column t.c is null",
        of("AlterColumn", target="t", column="c", comment=""),
    ),
}


@pytest.mark.parametrize("case", ALTERS)
def test_what_an_alteration_means(case: str) -> None:
    text, expected = ALTERS[case]
    assert parsed(text) == expected


REFUSED = {
    "add partition elsewhere": (
        "alter table t add partition (p = 1) location '/x'",
        UnsupportedError,
        "insert into ... select",
    ),
    "add partition": (
        "alter table t add if not exists partition (p = 1)",
        UnsupportedError,
        "leave the statement out",
    ),
    "drop partition": (
        "alter table t drop if exists partition (p = 1)",
        UnsupportedError,
        "truncate table ... partition",
    ),
    "rename partition": (
        "alter table t partition (p = 1) rename to partition (p = 2)",
        UnsupportedError,
        "as long as they have rows",
    ),
    "set location": ("alter table t set location '/x'", UnsupportedError, "`alter table t set"),
    "replace columns": ("alter table t replace columns (a int)", UnsupportedError, "Rebuild"),
    "set serde": ("alter table t set serde 'x'", UnsupportedError, "Rebuild"),
    "cluster by": ("alter table t cluster by (a)", UnsupportedError, "Rebuild"),
    "add foreign key": (
        "alter table t add constraint c foreign key (a) references u (a)",
        UnsupportedError,
        "test for anything else",
    ),
    "add columns to a view": (
        "alter view v add columns `a` int",
        UnsupportedError,
        "Rebuild the view",
    ),
    "view binding": ("alter view v with schema evolution", UnsupportedError, "the view"),
    "several columns": (
        "alter table t alter column a type int, b comment 'x'",
        UnsupportedError,
        "one `alter table` per column",
    ),
    "field of a struct": (
        "alter table t alter column a.b type int",
        UnsupportedError,
        "field inside the column 'a'",
    ),
    "drop a field": ("alter table t drop column a.b", UnsupportedError, "inside the column"),
    "add a key column": (
        "alter table t add columns (a int primary key)",
        UnsupportedError,
        "no value for it",
    ),
    "rename by change": (
        "alter table t change a b bigint",
        InputError,
        "rename column a to b",
    ),
    "no action": ("alter table t alter column a", InputError, "`type`"),
    "a tail": ("alter table t drop column a cascade", InputError, "found 'cascade'"),
    "comment without is": ("comment on table t 'x'", InputError, "Expected `is`"),
    "comment on column alone": ("comment on column c is 'x'", InputError, "table.column"),
    "comment on a function": ("comment on function f is 'x'", InputError, "found 'function'"),
    "schema location": ("alter schema s set location '/x'", UnsupportedError, "dbproperties"),
    "into another catalog": (
        "alter table t rename to other.s.t",
        UnsupportedError,
        "another catalog",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_the_next_step(case: str) -> None:
    text, error, words = REFUSED[case]
    with pytest.raises(error) as caught:
        parse(text)
    assert type(caught.value) is error
    assert words in str(caught.value)


def test_the_target_of_a_column_comment_is_the_table() -> None:
    text = "comment on column spark_catalog.s.`t`.c is 'x'"
    statement = parse(text)
    assert isinstance(statement, AlterColumn)
    assert text[statement.target.start : statement.target.end] == "spark_catalog.s.`t`"


@pytest.mark.parametrize(
    "text",
    [
        "alter table other.s.t add column a int",
        "comment on table other.s.t is 'x'",
        "comment on column other.s.t.c is 'x'",
        "drop table other.s.t",
        "create table other.s.t (a int)",
        "create schema other.s",
        "insert into other.s.t select * from u",
        "merge into other.s.t using u on true when matched then delete",
        "describe other.s.t",
        "show tables in other.s",
        "truncate table other.s.t",
        "use other.s",
    ],
)
def test_another_catalog_is_spark_s_own_business(text: str) -> None:
    assert isinstance(parse(text), SparkCommand)
