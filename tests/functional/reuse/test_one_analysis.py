"""Spark is given a model's or a test's query once a node, whatever it is asked about it."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from py4j.clientserver import ClientServerConnection

from dbt.adapters.vcs.engines.dataframes.frame_session import AnalysedQuery
from dbt.adapters.vcs.engines.spark.session import ProcessSession
from tests.functional.daily.models import TABLE, VIEW, config, incremental

pytestmark = pytest.mark.spark

MODELS = {
    "models/made.sql": TABLE + "select id, 'of_made' as mark from range(10)",
    "models/varying.sql": TABLE
    + "select rand() as r, 'of_varying' as mark from {{ ref('made') }}",
    "models/shown.sql": VIEW + "select id, 'of_shown' as mark from {{ ref('made') }}",
    "models/grown.sql": incremental(
        "append",
        "select id, 'of_grown' as mark from {{ ref('shown') }} where id < 5",
        "select id, 'of_grown' as mark, 1 as one from {{ ref('shown') }} "
        "where id > (select max(id) from {{ this }})",
        on_schema_change="append_new_columns",
    ),
    "models/merged.sql": incremental(
        "merge",
        "select id, 'of_merged' as mark from {{ ref('shown') }} where id < 5",
        "select id, 'of_merged' as mark from {{ ref('shown') }} where id > 3",
        unique_key="id",
    ),
    "models/now.sql": config(materialized="table") + "select current_timestamp() as t",
    "tests/none.sql": "select 'of_test' as mark from {{ ref('made') }} where id < 0",
    "models/summed.sql": TABLE + "select sum(id) as total from {{ ref('made') }}",
    "models/schema.yml": """
        unit_tests:
          - name: adds_up
            model: summed
            given: [{input: ref('made'), rows: [{id: 1}, {id: 2}]}]
            expect: {rows: [{total: 3}]}
    """,
}


@pytest.fixture
def marks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the marks in what is sent to Java from now on."""
    sent: list[str] = []
    plain = ClientServerConnection.send_command

    def send_command(self: ClientServerConnection, command: str) -> str:
        sent.extend(re.findall(r"of_[a-z]+(?=')", command))
        return plain(self, command)

    monkeypatch.setattr(ClientServerConnection, "send_command", send_command)
    return sent


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of the queries that sessions analyse by themselves from now on."""
    texts: list[str] = []
    plain = ProcessSession.analysed

    def analyse(self: ProcessSession, query_text: str) -> AnalysedQuery:
        texts.append(query_text)
        return plain(self, query_text)

    monkeypatch.setattr(ProcessSession, "analysed", analyse)
    return texts


def test_a_query_is_sent_once(make_project, marks: list[str], analysed: list[str]) -> None:
    shop = make_project(MODELS)
    assert shop.dbt("build").status("adds_up") == "pass"
    # A view is analysed for its columns, and again as Spark makes it.
    once = {"of_made": 1, "of_varying": 1, "of_shown": 2, "of_test": 1}
    assert Counter(marks) == {**once, "of_grown": 1, "of_merged": 1}
    [(first,)], varied = shop.rows("now"), shop.rows("varying")
    marks.clear()
    analysed.clear()
    shop.dbt("build")
    # The merge's own query has its source in it.
    assert not [text for text in analysed if "merged__dbt_tmp" in text]
    # What is known isn't asked about, and a view is made for those who read it.
    assert Counter(marks) == {"of_varying": 1, "of_shown": 1, "of_grown": 1, "of_merged": 1}
    [(second,)] = shop.rows("now")
    assert second > first
    assert shop.rows("varying") != varied
    assert shop.rows("grown") == [(n, "of_grown", None if n < 5 else 1) for n in range(10)]
    assert [n for n, _ in shop.rows("merged")] == list(range(10))
