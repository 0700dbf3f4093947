{#- Redefine dbt-spark's macros, which are not dispatched: where on_schema_change lets a model lose
    a column, its new rows have NULL there. -#}
{% macro get_insert_into_sql(source_relation, target_relation) -%}
  insert into table {{ target_relation }}
  select {{ vcs_columns_to_insert(source_relation, target_relation) }} from {{ source_relation }}
{%- endmacro %}


{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) -%}
  insert overwrite table {{ target_relation }} {{ partition_cols(label="partition") }}
  select {{ vcs_columns_to_insert(source_relation, target_relation) }} from {{ source_relation }}
{%- endmacro %}


{% macro vcs_columns_to_insert(source_relation, target_relation) -%}
  {%- set columns = adapter.get_columns_in_relation(target_relation) -%}
  {%- set may_lose = (config.get('on_schema_change') or 'ignore') != 'ignore' -%}
  {%- set given = adapter.get_columns_in_relation(source_relation) if may_lose else columns -%}
  {%- set names = given | map(attribute='name') | map('lower') | list -%}
  {%- set selected = [] -%}
  {%- for column in columns -%}
    {%- do selected.append(("" if column.name | lower in names else "null as ") ~ column.quoted) -%}
  {%- endfor -%}
  {{ return(selected | join(", ")) }}
{%- endmacro %}
