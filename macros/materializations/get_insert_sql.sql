{#- Override dbt-spark's macros, which are not dispatched: if on_schema_change lets a model drop a
    column, new rows have NULL in it. -#}
{% macro get_insert_into_sql(source_relation, target_relation) -%}
  insert into table {{ target_relation }}
  select {{ vcs_columns_to_insert(source_relation, target_relation) }} from {{ source_relation }}
{%- endmacro %}


{% macro get_insert_overwrite_sql(source_relation, target_relation, existing_relation) -%}
  insert overwrite table {{ target_relation }} {{ partition_cols(label="partition") }}
  select {{ vcs_columns_to_insert(source_relation, target_relation) }} from {{ source_relation }}
{%- endmacro %}


{% macro vcs_columns_to_insert(source_relation, target_relation) -%}
  {%- set given = vcs_columns_to_write(source_relation, target_relation) -%}
  {%- set names = given | map(attribute='name') | list -%}
  {%- set selected = [] -%}
  {%- for column in adapter.get_columns_in_relation(target_relation) -%}
    {%- do selected.append(("" if column.name in names else "null as ") ~ column.quoted) -%}
  {%- endfor -%}
  {{ return(selected | join(", ")) }}
{%- endmacro %}


{#- The target's columns to write: all except those that the source lacks and is allowed to lack.
    -#}
{% macro vcs_columns_to_write(source_relation, target_relation) -%}
  {%- set columns = adapter.get_columns_in_relation(target_relation) -%}
  {%- if (config.get('on_schema_change') or 'ignore') == 'ignore' -%}
    {{ return(columns) }}
  {%- endif -%}
  {%- set given = adapter.get_columns_in_relation(source_relation) -%}
  {%- set names = given | map(attribute='name') | map('lower') | list -%}
  {%- set found = [] -%}
  {%- for column in columns if column.name | lower in names -%}
    {%- do found.append(column) -%}
  {%- endfor -%}
  {{ return(found) }}
{%- endmacro %}
