{#- Override dbt-spark's macros, which are not dispatched and require Delta: here all of dbt's
    strategies work on every table, and so do those that a project defines. -#}
{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) %}
  {%- do vcs_sql_header() -%}
  {%- set strategy = config.get('incremental_strategy') or 'default' -%}
  {%- do adapter.get_incremental_strategy_macro(context, strategy) -%}
  {{ return(strategy) }}
{% endmacro %}


{#- Any other format was either refused before anything ran, or is ignored as set in the profile.
    -#}
{% macro dbt_spark_validate_get_file_format(raw_file_format) %}
  {{ return('parquet') }}
{% endmacro %}
