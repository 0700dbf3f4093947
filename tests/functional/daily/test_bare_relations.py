"""A relation without a schema means the session's schema, whatever asks about it."""

from __future__ import annotations

import json

import pytest

from .models import TABLE

pytestmark = pytest.mark.spark

MACROS = """
    {% macro bare(name, type='table') %}
      {{ return(api.Relation.create(identifier=name, type=type)) }}
    {% endmacro %}

    {% macro full(name) %}
      {{ return(api.Relation.create(schema=target.schema, identifier=name, type='table')) }}
    {% endmacro %}

    {% macro tell(answer) %}{% do log('ANSWER ' ~ tojson(answer), info=true) %}{% endmacro %}

    {% macro columns_of(relation) %}
      {%- set found = [] -%}
      {%- for column in adapter.get_columns_in_relation(relation) -%}
        {%- do found.append([column.name, column.data_type]) -%}
      {%- endfor -%}
      {{ return(found) }}
    {% endmacro %}

    {% macro names_of(relations) %}
      {%- set found = [] -%}
      {%- for relation in relations -%}
        {%- do found.append([relation.schema, relation.identifier, relation.type | string]) -%}
      {%- endfor -%}
      {{ return(found) }}
    {% endmacro %}

    {% macro answers_about(relation, wider) %}
      {%- set schema = relation.schema -%}
      {%- set name = relation.identifier -%}
      {%- set in_columns = dbt.get_columns_in_relation(relation) | map(attribute='name') | list -%}
      {%- set listed = dbt.list_relations_without_caching(relation.without_identifier()) -%}
      {{ return({
        'columns': columns_of(relation),
        'in macro': in_columns,
        'without': columns_of(full(name).include(schema=false)),
        'relation': names_of([adapter.get_relation(none, schema, name)]),
        'loaded': names_of([load_relation(relation)]),
        'cached': names_of([load_cached_relation(relation)]),
        'exists': adapter.already_exists(schema, name),
        'schema': adapter.check_schema_exists(none, schema),
        'listed': listed.columns[1].values() | list,
        'missing': adapter.get_missing_columns(wider, relation) | map(attribute='name') | list,
        'is table': adapter.vcs_is_table(relation),
        'made': get_or_create_relation(none, schema, name, 'table')[0],
        'none': adapter.get_relation(none, schema, 'nowhere') is none,
      }) }}
    {% endmacro %}

    {% macro ask() %}
      {%- do run_query("create table " ~ bare('loose') ~ " as select 1 as id, 'x' as name") -%}
      {%- do run_query("create table " ~ bare('wider') ~ " as select 1 as id, 2.5 as price") -%}
      {%- do tell([
        answers_about(bare('loose'), bare('wider')), answers_about(full('loose'), full('wider'))
      ]) -%}
    {% endmacro %}

    {% macro change() %}
      {%- do run_query("create table " ~ bare('one') ~ " as select id from range(3)") -%}
      {%- do adapter.expand_target_column_types(bare('one'), bare('one')) -%}
      {%- do run_query("insert into " ~ bare('one') ~ " values (9)") -%}
      {%- do adapter.rename_relation(bare('one'), bare('two')) -%}
      {%- do run_query("create table " ~ bare('emptied') ~ " as select 1 as id") -%}
      {%- do adapter.truncate_relation(bare('emptied')) -%}
      {%- do run_query("create table " ~ bare('gone') ~ " as select 1 as id") -%}
      {%- do adapter.drop_relation(bare('gone')) -%}
    {% endmacro %}

    {% macro in_another_schema() %}
      {%- do run_query("create schema if not exists other") -%}
      {%- do run_query("create table other.loose as select 1 as elsewhere") -%}
      {%- do run_query("use other") -%}
      {%- do tell([columns_of(bare('loose')), columns_of(full('loose')),
        names_of([load_relation(bare('loose'))]),
        adapter.get_relation(none, none, 'made') is none, vcs_point(bare('loose'), 'main')]) -%}
    {% endmacro %}

    {% macro temporary() %}
      {%- do run_query("create temporary view made as select 1 as passing") -%}
      {%- do tell([columns_of(bare('made', 'view')), columns_of(full('made')),
        adapter.vcs_is_table(bare('made', 'view')), adapter.vcs_is_table(full('made'))]) -%}
    {% endmacro %}

    {% macro vcs__drop_relation(relation) %}
      {%- do log('DROPPED ' ~ relation.identifier, info=true) -%}
      {{ return(spark__drop_relation(relation)) }}
    {% endmacro %}

    {% macro drop_some() %}
      {%- do run_query("create table " ~ full('there') ~ " as select 1 as id") -%}
      {%- do run_query("create temporary view passing as select 1 as id") -%}
      {%- for relation in [full('nowhere'), bare('passing', 'view'), full('there')] -%}
        {%- do adapter.drop_relation(relation) -%}
      {%- endfor -%}
    {% endmacro %}

    {% macro drop_nothing() %}{% do adapter.drop_schema(api.Relation.create()) %}{% endmacro %}
"""


@pytest.fixture(scope="module")
def shop(make_project):
    project = make_project(
        {"models/made.sql": TABLE + "select 1 as id", "macros/macros.sql": MACROS}
    )
    project.dbt("run")
    return project


def answers(shop, operation):
    said = shop.dbt("run-operation", operation).said
    (line,) = [line for line in said.splitlines() if "ANSWER " in line]
    return json.loads(line.partition("ANSWER ")[2])


def test_every_question_is_answered_as_with_the_schema(shop):
    bare, full = answers(shop, "ask")
    assert bare == full
    assert full["columns"] == full["without"] == [["id", "int"], ["name", "string"]]
    assert full["in macro"] == ["id", "name"]
    assert full["relation"] == full["loaded"] == [["analytics", "loose", "table"]]
    assert {"loose", "made", "wider"} <= set(full["listed"])
    assert full["missing"] == ["price"]
    assert [full["is table"], full["made"], full["none"], full["exists"]] == [True] * 4


def test_what_changes_a_relation_finds_it(shop):
    shop.dbt("run-operation", "change")
    assert {"two", "emptied"} <= set(shop.kinds())
    assert not {"one", "gone"} & set(shop.kinds())
    assert shop.column("select id from analytics.two") == [0, 1, 2, 9]
    assert shop.snapshot("emptied").rows == 0


def test_what_is_not_there_is_dropped_without_the_macro(shop):
    said = shop.dbt("run-operation", "drop_some").said
    dropped = [line.partition("DROPPED ")[2] for line in said.splitlines() if "DROPPED " in line]
    assert dropped == ["passing", "there"]
    assert "there" not in shop.kinds()


def test_the_sessions_schema_is_the_one_in_use(shop):
    bare, full, loaded, is_elsewhere, point = answers(shop, "in_another_schema")
    assert bare == [["elsewhere", "int"]]
    assert full == [["id", "int"], ["name", "string"]]
    assert loaded == [["other", "loose", "table"]]
    assert (is_elsewhere, point) == (True, "loose@main")


def test_a_temporary_view_hides_the_table_of_its_name(shop):
    assert answers(shop, "temporary") == [
        [["passing", "int"]], [["id", "int"]], False, True,
    ]  # fmt: skip


def test_a_schema_without_a_name_is_never_dropped(shop):
    before = shop.head()
    ran = shop.dbt("run-operation", "drop_nothing", ok=False)
    assert "There is no schema name to drop" in ran.said + ran.error
    assert shop.head() == before
