{# Counts the columns that are NULL throughout, by way of a temporary relation. #}
{% test keeps_columns(model) %}
  {%- set kept = ledger.temporary_relation(model.identifier) -%}
  {%- if execute -%}
    {%- do run_query(dbt.create_table_as(true, kept, 'select * from ' ~ model)) -%}
    {%- set columns = adapter.get_columns_in_relation(kept) -%}
    {%- if not columns -%}
      {%- do exceptions.raise_compiler_error('no columns of ' ~ kept) -%}
    {%- endif -%}
    {% for column in columns %}
      select '{{ column.name }}' as name from {{ model }}
      having count(*) > 0 and count({{ column.quoted }}) = 0
      {{ 'union all' if not loop.last }}
    {% endfor %}
  {%- else -%}
    select 1
  {%- endif -%}
{% endtest %}
