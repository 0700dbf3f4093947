"""Messages quote the statement, and not what dbt writes around it."""

from __future__ import annotations

import pytest

from dbt.adapters.vcs.sql.syntax.excerpts import excerpt

COMMENT = '/* {"app": "dbt", "node_id": "model.shop.a", "note": "it\'s /* nested */ here"} */'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("drop table a.b", "drop table a.b"),
        (f"{COMMENT}\ndrop table a.b", "drop table a.b"),
        (f"drop table a.b\n{COMMENT}", "drop table a.b"),
        ("insert into t -- why\n  values (1,'a  /* b */'),\n (2, `c d`)",
         "insert into t values (1,'a /* b */'), (2, `c d`)"),
        ("select 'open", "select 'open"),
        ("/* nothing */", ""),
        ("select /*+ broadcast(t) */ 1", "select 1"),
    ],
)  # fmt: skip
def test_comments_are_left_out(text: str, shown: str) -> None:
    assert excerpt(text) == shown


def test_what_is_cut_off_is_marked() -> None:
    assert excerpt("select abc, def", 11) == "select abc…"
    assert excerpt("select abc, def", 15) == "select abc, def"
    assert excerpt(f"{COMMENT} select {'x' * 100}", 20) == f"select {'x' * 12}…"
