"""dbt's functions: built on the run's branch, called by models, published with them."""

from __future__ import annotations

import pytest

from .project import Project

pytestmark = pytest.mark.spark

FILES = {
    "models/rates.sql": "select 0.25D as rate",
    "models/orders.sql": "select id, {{ function('net_of') }}(id * 100) as net from range(3)",
    "models/shown.sql": """
        {{ config(materialized='view') }}
        select {{ function('total') }}(net) as total, {{ function('label') }}('a') as label
        from {{ ref('orders') }}
    """,
    "models/listed.sql": "select * from {{ function('cheaper') }}(150)",
    "models/framed.py": """
        def model(dbt, session):
            dbt.ref("orders")
            return session.sql("select analytics.label('x') as label")
    """,
    "functions/net_of.sql": "select gross * (1 - (select max(rate) from {{ ref('rates') }}))",
    "functions/cheaper.sql": "select id, net from {{ ref('orders') }} where net < cheaper.limit",
    "functions/label.py": """
        import json

        def label(name):
            return json.dumps({"it's": name}) + '$$'
    """,
    "functions/total.py": """
        class Total:
            def __init__(self):
                self.sum = 0.0

            def accumulate(self, value):
                self.sum += value

            def finish(self):
                return self.sum
    """,
    "functions/functions.yml": """
        functions:
          - name: net_of
            description: What's left of it.
            config: {volatility: deterministic, persist_docs: {relation: true}}
            arguments: [{name: gross, data_type: double, default_value: 100}]
            returns: {data_type: double}
          - name: cheaper
            arguments: [{name: limit, data_type: double}]
            returns: {data_type: "table(id bigint, net double)"}
          - name: label
            config: {entry_point: label, runtime_version: "3.11"}
            arguments: [{name: name, data_type: string}]
            returns: {data_type: string}
          - name: total
            config: {type: aggregate, entry_point: Total, runtime_version: "3.11"}
            arguments: [{name: value, data_type: double}]
            returns: {data_type: double}
    """,
}


@pytest.fixture(scope="module")
def shop(make_project) -> Project:
    project = make_project(FILES)
    project.dbt("build")
    return project


def test_models_call_functions_of_every_kind(shop: Project) -> None:
    assert shop.rows("select sum(net), count(*) from analytics.orders") == [(225.0, 3)]
    assert shop.rows("select * from analytics.shown") == [(225.0, '{"it\'s": "a"}$$')]
    assert shop.rows("select id from analytics.listed order by 1") == [(0,), (1,)]
    assert shop.rows("select label from analytics.framed") == [('{"it\'s": "x"}$$',)]
    assert shop.rows("select analytics.net_of()") == [(75.0,)]
    facts = [row[0] for row in shop.rows("describe function extended analytics.net_of")]
    assert any("What's left of it." in line for line in facts)


def test_a_run_that_fails_publishes_no_function(shop: Project) -> None:
    shop.write({"functions/net_of.sql": "gross * 2", "models/broken.sql": "select nix"})
    shop.dbt("build", ok=False)
    assert shop.rows("select analytics.net_of(1)") == [(0.75,)]
    shop.remove("models/broken.sql")
    said = shop.dbt("build", "--select", "net_of").said
    assert "changed  function analytics.net_of" in said
    assert shop.rows("select analytics.net_of(1)") == [(2.0,)]


def test_what_spark_cannot_do_says_what_can(shop: Project) -> None:
    shop.write(
        {
            "functions/other/sums.sql": "sum(x)",
            "functions/other/other.yml": """
                functions:
                  - name: sums
                    config: {type: aggregate}
                    arguments: [{name: x, data_type: int}]
                    returns: {data_type: int}
            """,
        }
    )
    ran = shop.dbt("build", "--select", "sums", ok=False)
    assert "Spark's SQL functions can't aggregate: write sums in Python" in ran.message("sums")
    shop.remove("functions/other/sums.sql", "functions/other/other.yml")


def test_an_error_in_python_names_the_line_of_the_file(shop: Project) -> None:
    shop.write({"functions/label.py": "def label(name):\n    return name.nix\n"})
    shop.dbt("build", "--select", "label")
    query = "select {{ function('label') }}('x')"
    said = shop.dbt("show", "--inline", query, ok=False).said
    assert '"<analytics.label.py>", line 2, in label' in said
    assert "no attribute 'nix'" in said
    shop.write({"functions/label.py": FILES["functions/label.py"]})


def test_macros_that_look_at_relations_find_functions(shop: Project) -> None:
    shop.write(
        {
            "macros/look.sql": """
                {% macro look() %}
                  {% for name in ['orders', 'total'] %}
                    {% set found = adapter.get_relation(none, 'analytics', name) %}
                    {% set columns = adapter.get_columns_in_relation(found) %}
                    {% do log(found.name ~ ' ' ~ found.type ~ ' ' ~ columns | length, true) %}
                  {% endfor %}
                  {% do adapter.drop_relation(adapter.get_relation(none, 'analytics', 'total')) %}
                {% endmacro %}
            """
        }
    )
    said = shop.dbt("run-operation", "look").said
    assert "total function 0" in said
    assert "orders view 2" in said
    assert shop.entry("total") is None
    shop.dbt("build", "--select", "total")


def test_functions_alone_make_their_schema(make_project) -> None:
    project = make_project(
        {
            "functions/one.sql": "1",
            "functions/one.yml": """
                functions:
                  - {name: one, returns: {data_type: int}, config: {schema: tools}}
            """,
        }
    )
    project.dbt("build")
    assert project.rows("select analytics_tools.one()") == [(1,)]
    assert "nothing" in project.dbt("build").said.lower()
