{#- Redefine dbt-spark's macros, which are not dispatched and ask for Delta: here every strategy that
    dbt knows works on every table, and so does one that a project defines. -#}
{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) %}
  {%- do vcs_sql_header() -%}
  {%- set strategy = config.get('incremental_strategy') or 'default' -%}
  {%- do adapter.get_incremental_strategy_macro(context, strategy) -%}
  {{ return(strategy) }}
{% endmacro %}


{#- Any other format was refused before anything ran, or is left out as the profile says. -#}
{% macro dbt_spark_validate_get_file_format(raw_file_format) %}
  {{ return('parquet') }}
{% endmacro %}
