{#- The strategy apply_changes: a table is the result of the changes that its query returns. -#}

{#- Whether the model's rows say in _change_type what to do with them. -#}
{% macro vcs_applies_changes() %}
  {% do return(
    model.config.materialized == 'incremental'
    and config.get('incremental_strategy') == 'apply_changes'
  ) %}
{% endmacro %}


{% macro vcs_changes_view(relation) %}
  {% set identifier = relation.identifier ~ '__changes' %}
  {% do return(
    relation.incorporate(path={'identifier': identifier}).include(database=false, schema=false)
  ) %}
{% endmacro %}


{#- Creates a temporary view of the model's query; returns a query for its rows as the table has
    them. -#}
{% macro vcs_rows_of_changes(relation, compiled_code) %}
  {%- set view = vcs_changes_view(relation) -%}
  {%- call statement('vcs_changes') -%}
    {{ vcs_sql_header() }}
    {{ create_temporary_view(view, compiled_code) }}
  {%- endcall -%}
  {%- set columns = adapter.get_columns_in_relation(view) | map(attribute='name') | list -%}
  {%- if '_change_type' not in columns or not config.get('unique_key') -%}
    {%- do exceptions.raise_compiler_error(
      'The strategy apply_changes needs a unique_key and a query with the column _change_type, as '
      ~ 'changes() returns it; found unique_key: ' ~ config.get('unique_key') ~ ', columns: '
      ~ columns | join(', ') ~ '.'
    ) -%}
  {%- endif -%}
  {{ return('select * except (_change_type) from ' ~ view) }}
{% endmacro %}


{% macro get_incremental_apply_changes_sql(arg_dict) %}
  {{ return(adapter.dispatch('get_incremental_apply_changes_sql', 'dbt')(arg_dict)) }}
{% endmacro %}


{#- A key that got a row has this row, whatever else happened to it. A key that only lost one has
    none. NULL is a key like any other. -#}
{% macro default__get_incremental_apply_changes_sql(arg_dict) -%}
  {%- set unique_key = arg_dict['unique_key'] -%}
  {%- set keys = [unique_key] if unique_key is string else unique_key -%}
  {%- set columns = arg_dict['dest_columns'] | map(attribute='quoted') | list -%}
  {%- set is_new = "_change_type in ('insert', 'update_postimage')" -%}
  merge into {{ arg_dict['target_relation'] }} as DBT_INTERNAL_DEST
  using (
    select
      {{ columns | join(', ') }},
      dbt_is_new and case when dbt_new_rows > 1 then raise_error(concat(
        {{ vcs_text_literal(
          'apply_changes expects at most one new row for a value of '
          ~ keys | join(', ') ~ ' (unique_key), found several for '
        ) }},
        to_json(struct({{ keys | join(', ') }}))
      )) else true end as dbt_is_new
    from (
      select
        *,
        {{ is_new }} as dbt_is_new,
        count_if({{ is_new }}) over (partition by {{ keys | join(', ') }}) as dbt_new_rows
      from {{ vcs_changes_view(arg_dict['temp_relation']) }}
    )
    where dbt_is_new or dbt_new_rows = 0
  ) as DBT_INTERNAL_SOURCE
  on {% for key in keys -%}
    {{ 'and ' if not loop.first }}DBT_INTERNAL_DEST.{{ key }} <=> DBT_INTERNAL_SOURCE.{{ key }}
  {% endfor -%}
  {%- for predicate in arg_dict['incremental_predicates'] or [] %}
    and ({{ predicate }})
  {%- endfor %}
  when matched and not DBT_INTERNAL_SOURCE.dbt_is_new then delete
  when matched then update set
    {% for column in columns -%}
      {{ column }} = DBT_INTERNAL_SOURCE.{{ column }}{{ ', ' if not loop.last }}
    {%- endfor %}
  when not matched and DBT_INTERNAL_SOURCE.dbt_is_new then insert ({{ columns | join(', ') }})
    values (
      {%- for column in columns -%}
        DBT_INTERNAL_SOURCE.{{ column }}{{ ', ' if not loop.last }}
      {%- endfor -%}
    )
{%- endmacro %}
