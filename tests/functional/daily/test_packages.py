"""Packages: what their macros ask of an adapter is answered from the branch."""

from __future__ import annotations

import json

import pytest

from .models import TABLE, VIEW, config

pytestmark = pytest.mark.spark

MACROS = """
    {% macro columns_of(relation) %}
      {{ return(adapter.get_columns_in_relation(relation) | map(attribute='name') | join(',')) }}
    {% endmacro %}

    {% macro look_around(relation) %}
      {%- set schema = target.schema -%}
      {%- set nothing = api.Relation.create(schema='no', identifier='no') -%}
      {%- set missing = adapter.get_relation(database=none, schema=schema, identifier='no') -%}
      {%- set here = adapter.get_relation(none, relation.schema, relation.identifier) -%}
      {%- set listed = list_relations_without_caching(relation.without_identifier()) -%}
      {%- set query = 'select 1 as a, 2 as `B c`' -%}
      {{ return({
        'missing': missing is none,
        'type': here.type,
        'is_table': here.is_table,
        'loaded': load_relation(relation).type,
        'listed': listed.columns['tableName'].values() | sort | list,
        'schema_exists': adapter.check_schema_exists(none, target.schema),
        'no_schema': adapter.check_schema_exists(none, 'nowhere'),
        'exists': adapter.already_exists(target.schema, relation.identifier),
        'in_query': get_columns_in_query(query),
        'types': get_column_schema_from_query('select 1 as a, 2.5 as b')
          | map(attribute='data_type') | list,
        'missing_columns': adapter.get_missing_columns(ref('wide'), relation)
          | map(attribute='name') | list,
        'types_of': adapter.get_columns_in_relation(relation) | map(attribute='data_type') | list,
        'none_of': adapter.get_columns_in_relation(nothing),
        'pattern': run_query("show tables in " ~ schema ~ " like 'wi*'").columns[1].values(),
        'extended': run_query(
          "show table extended in " ~ schema ~ " like 'wide'").columns[1].values(),
        'max': run_query("select max(id) from " ~ relation).columns[0].values(),
      }) }}
    {% endmacro %}

    {% macro union_of(relations) %}
      {%- for relation in relations -%}
        select {{ tools.columns_of(relation) }}, '{{ relation.identifier }}' as origin
        from {{ relation }}
        {{ 'union all ' if not loop.last }}
      {%- endfor -%}
    {% endmacro %}

    {% macro rebuild(name) %}
      {%- set schema = target.schema ~ '_made' -%}
      {%- do adapter.create_schema(api.Relation.create(schema=schema)) -%}
      {%- set old = api.Relation.create(schema=schema, identifier=name ~ '_old', type='table') -%}
      {%- set new = api.Relation.create(schema=schema, identifier=name, type='table') -%}
      {%- do run_query('create table ' ~ old ~ ' as select 1 as id') -%}
      {%- do adapter.rename_relation(old, new) -%}
      {%- do run_query('insert into ' ~ new ~ ' values (2), (3)') -%}
      {%- do run_query('create table ' ~ old ~ ' as select 9 as id') -%}
      {%- do adapter.drop_relation(old) -%}
      {%- do adapter.truncate_relation(new) if name == 'emptied' -%}
      {%- do log(run_query('select count(*) from ' ~ new).columns[0][0] ~ ' rows', info=true) -%}
    {% endmacro %}

    {% macro drop_all(schema) %}
      {%- do adapter.drop_schema(api.Relation.create(schema=schema)) -%}
    {% endmacro %}
"""
PORTABLE = """
    select
      {{ dbt.concat(["'a'", "'b'"]) }} as concat,
      {{ dbt.datediff("date'2026-01-01'", "date'2026-03-01'", 'day') }} as days,
      {{ dbt.dateadd('month', 1, "date'2026-01-31'") }} as later,
      {{ dbt.date_trunc('month', "date'2026-01-31'") }} as month,
      {{ dbt.safe_cast("'x'", dbt.type_int()) }} as no_int,
      {{ dbt.split_part("'a,b,c'", "','", 2) }} as part,
      {{ dbt.string_literal("its") }} as literal,
      {{ dbt.hash("'x'") }} as hash,
      {{ dbt.cast_bool_to_text('true') }} as truth,
      {{ dbt.listagg('kind', "','") }} as kinds,
      {{ dbt.bool_or('id > 1') }} as some,
      {{ dbt.any_value("'z'") }} as one
    from {{ ref('narrow') }}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {
            "packages.yml": "packages: [{local: tools}]",
            "tools/dbt_project.yml": "name: tools\nversion: '1.0'\nconfig-version: 2\n",
            "tools/macros/all.sql": MACROS,
            "tools/models/shared.sql": TABLE + "select 'package' as origin",
            "models/narrow.sql": TABLE + "select id, 'k' as kind from values (1), (2) as t(id)",
            "models/wide.sql": VIEW + "select id, kind, 1.5 as price from {{ ref('narrow') }}",
            "models/looked.sql": TABLE + "-- depends_on: {{ ref('narrow') }} {{ ref('wide') }}\n"
            "select '{{ tojson(tools.look_around(ref('narrow'))) if execute }}' as found",
            "models/united.sql": VIEW
            + "-- depends_on: {{ ref('narrow') }} {{ ref('narrow_too') }}\n"
            "{{ tools.union_of([ref('narrow'), ref('narrow_too')]) if execute }}",
            "models/narrow_too.sql": TABLE + "select * from {{ ref('narrow') }}",
            "models/portable.sql": config(materialized="table") + PORTABLE,
        }
    )
    project.dbt("deps")
    project.dbt("build")
    return project


def test_macros_see_the_branch_as_it_is(shop):
    found = json.loads(shop.column("looked")[0])
    listed = found.pop("listed")
    assert {"narrow", "wide"} <= set(listed)
    assert found == {
        "missing": True,
        "type": "table",
        "is_table": True,
        "loaded": "table",
        "schema_exists": True,
        "no_schema": False,
        "exists": True,
        "in_query": ["a", "B c"],
        "types": ["int", "decimal(2,1)"],
        "missing_columns": ["price"],
        "types_of": ["int", "string"],
        "none_of": [],
        "pattern": ["wide"],
        "extended": ["wide"],
        "max": [2],
    }


def test_models_of_packages_and_of_macros_are_built(shop):
    assert shop.column("shared") == ["package"]
    assert len(shop.rows("united")) == 4
    assert shop.snapshot("shared").origin.node == "model.tools.shared"


def test_portable_macros_work(shop):
    (row,) = shop.sql("select * from portable").to_pylist()
    assert row["concat"] == "ab"
    assert row["days"] == 59
    assert str(row["later"])[:10] == "2026-02-28"
    assert str(row["month"])[:10] == "2026-01-01"
    assert row["no_int"] is None
    assert (row["part"], row["literal"], row["truth"]) == ("b", "its", "true")
    assert (row["kinds"], row["some"], row["one"]) == ("k,k", True, "z")


def test_operations_are_published(shop):
    ran = shop.dbt("run-operation", "tools.rebuild", "--args", "{name: made}")
    assert "3 rows" in ran.said
    shop.dbt("run-operation", "rebuild", "--args", "{name: emptied}")
    assert shop.kinds("analytics_made") == {"made": "table", "emptied": "table"}
    assert shop.column("select id from analytics_made.made") == [1, 2, 3]
    assert shop.snapshot("analytics_made.emptied").rows == 0
    shop.dbt("run-operation", "drop_all", "--args", "{schema: analytics_made}")
    assert "analytics_made" not in shop.repository.tree(shop.head()).schemas()


def test_an_operation_that_fails_changes_nothing(shop):
    head = shop.head()
    shop.dbt("run-operation", "rebuild", "--args", "{name: 'no name'}", ok=False)
    assert shop.head() == head
