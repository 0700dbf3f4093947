{#- Like dbt-spark's, with the primary key and other properties. dbt loads the rows of a seed only
    if there are any, so this checks whether an empty seed has changed. -#}
{% macro vcs__create_csv_table(model, agate_table) -%}
  {%- set sql = spark__create_csv_table(model, agate_table) -%}
  {%- do vcs_sync_properties(this) -%}
  {%- if agate_table.rows | length == 0 -%}
    {%- do adapter.load_seed(this, agate_table) -%}
  {%- endif -%}
  {{ return(sql) }}
{%- endmacro %}
