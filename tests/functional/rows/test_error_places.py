"""Lines and positions in errors: they count in the statement as it was sent."""

from __future__ import annotations

import re

import pytest

from dbt.adapters.vcs.core.errors import VcsError

from .shop import Shop

pytestmark = pytest.mark.spark

OLD = "{t} version as of 'start'"
WRONG = "nope"
STATEMENTS = [
    "\n\n  select nope from {t}",
    "/* by dbt */ select k,\n nope from {t}",
    f"select\n nope from {OLD}",
    f"select k from {OLD} as x\n where\n  x.nope = 1",
    f"select * from {OLD} a join {OLD} b on a.k = b.nope",
    "select * from snapshot_diff('{t}@start', '{t}') x\n where nope",
    "create table made as\n select k,\n nope from {t}",
    "create view made as\n select nope from {t}",
    "insert into {t}\n select k, nope from {t}",
    "insert into {t} replace where\n nope = 1 select 1, true",
    "update {t} set k =\n  nope where flag",
    "update {t} set k = 1, flag = k > 0 where\n nope = 1",
    "delete from {t} where k = 1 and\n nope",
    f"merge into {{t}} using {OLD} as s\n on {{t}}.k = s.k when matched and s.nope then delete",
    "merge into {t} as a using {t} as s on a.k = s.nope\n when matched then update set k = s.k",
    "merge into {t} as a using {t} as s on a.k = s.k\n when not matched then insert (k) "
    "values (s.k + nope)",
]


@pytest.fixture(scope="module")
def table(shop: Shop) -> str:
    name = shop.make("k int, flag boolean", "values (1, true)")
    shop.sql(f"create snapshot start for table {name}")
    return name


@pytest.mark.parametrize("statement", STATEMENTS)
def test_an_unknown_column_is_where_it_was_written(shop: Shop, table: str, statement: str) -> None:
    text = statement.format(t=table)
    with pytest.raises(VcsError, match=WRONG) as caught:
        shop.sql(text)
    found = re.search(r"line (\d+) pos (\d+)", str(caught.value))
    assert found, str(caught.value)
    rest = text.split("\n")[int(found[1]) - 1][int(found[2]) :]
    assert re.match(r"(\w\.)?nope", rest), (rest, str(caught.value))


@pytest.mark.parametrize(
    "statement",
    [
        "create table made as\nselect k,\n k b c from {t}",
        f"select k b c\n from {OLD}",
        f"insert into {{t}}\n select k, true b c\n from {OLD}",
    ],
)
def test_a_syntax_error_shows_the_statement_as_it_was_sent(
    shop: Shop, table: str, statement: str
) -> None:
    text = statement.format(t=table)
    with pytest.raises(VcsError, match="'c'") as caught:
        shop.sql(text)
    lines = str(caught.value).partition("== SQL ==\n")[2].split("\n")
    arrow = next(n for n, line in enumerate(lines) if line.endswith("-^^^"))
    assert lines[arrow - 1][lines[arrow].index("^") :].startswith("c")
    assert "\n".join(lines[:arrow] + lines[arrow + 1 :]) == text


@pytest.mark.parametrize(
    "statement",
    ["select k,\n k / (k - 1) from {t}", f"select\n k / (k - 1) x from {OLD}"],
)
def test_an_error_while_rows_are_computed_is_where_it_was_written(
    shop: Shop, table: str, statement: str
) -> None:
    shop.sql("set spark.sql.ansi.enabled = true")
    with pytest.raises(VcsError, match="DIVIDE_BY_ZERO") as caught:
        shop.sql(statement.format(t=table))
    shop.sql("reset spark.sql.ansi.enabled")
    found = re.search(r"== SQL \(line (\d+), position (\d+)\) ==", str(caught.value))
    assert found
    rest = statement.split("\n")[int(found[1]) - 1][int(found[2]) - 1 :]
    assert rest.startswith("k / (k - 1)")


def test_what_nobody_wrote_has_no_place(shop: Shop, table: str) -> None:
    with pytest.raises(VcsError, match="nope") as caught:
        shop.sql(f"alter table {table} add constraint c check (nope > 1)")
    assert "line 1 pos" not in str(caught.value)
