"""Row changes as queries over their table and source."""

from typing import Any

import pytest

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.sql.merge_into import Merge
from dbt.adapters.vcs.sql.syntax.parser import parse
from tests.unit.statements.statement_shapes import field

COLUMNS = (field("a"), field("B c"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("update t set d = 1", "no column 'd', which the statement sets; it has a, B c"),
        (
            "merge into t using u on true when not matched then insert (a, d) values (1, 2)",
            "no column 'd'",
        ),
        ("merge into t using u on true when matched then update set *", "`update set *` needs"),
        (
            "merge into t using u on true when not matched then insert *",
            "which lacks B c; it has A",
        ),
        ("merge into s.t using r.t on s.t.a = r.t.a when matched then delete", "an alias"),
        ("merge into s.t x using r.t as X on true when matched then delete", "an alias"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(text: str, words: str) -> None:
    statement: Any = parse(text)
    with pytest.raises(InputError) as caught:
        statement.staged("x", COLUMNS, *([["A"]] if isinstance(statement, Merge) else []))
    assert words in str(caught.value)


def test_an_update_as_a_query() -> None:
    statement: Any = parse(
        "with c as (table u) update s.t set `b C` = s.t.a + 1 where s.t.a in (table c)"
    )
    assert statement.staged("m.x", COLUMNS) == (
        "with c as (table u)\n"
        "select 'update' as __vcs_action,\n"
        "  `t`.__vcs_file as __vcs_file,\n"
        "  `t`.__vcs_pos as __vcs_pos,\n"
        "  `t`.`a` as __old_0,\n"
        "  `t`.`B c` as __old_1,\n"
        "  `t`.`a` as __new_0,\n"
        "  if(true, `t`.a + 1, null) as __new_1\n"
        "from m.x as `t`\n"
        "where true and (`t`.a in (table c)\n)"
    )


def test_the_names_of_a_merge_are_not_the_user_s() -> None:
    statement: Any = parse(
        "merge into t using u on t.__VCS_merge_pos = 1 when matched then delete"
    )
    assert "__vcs_merge_pos," not in statement.staged("x", COLUMNS)
    assert "__vcs_merge___pos," not in statement.staged("x", COLUMNS, ["__vcs_merge__old"])
    assert " __vcs_merge___pos " in statement.staged("x", COLUMNS)


def test_the_rows_of_a_source() -> None:
    statement: Any = parse(
        "with c as (table u) merge into t using c x on true when matched then delete"
    )
    assert statement.source_query() == "with c as (table u)\nselect * from c"
