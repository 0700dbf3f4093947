{#- Redefine dbt-spark's macros, which are not dispatched and ask for Delta: here every strategy that
    dbt knows works on every table, and so does one that a project defines. -#}
{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) %}
  {%- do vcs_sql_header() -%}
  {%- set strategy = config.get('incremental_strategy') or 'default' -%}
  {%- do adapter.get_incremental_strategy_macro(context, strategy) -%}
  {{ return(strategy) }}
{% endmacro %}


{% macro dbt_spark_validate_get_file_format(raw_file_format) %}
  {%- if vcs_ignores_storage() or not raw_file_format -%}
    {{ return('parquet') }}
  {%- endif -%}
  {%- if raw_file_format | lower not in ['parquet', 'vcs'] -%}
    {%- do exceptions.raise_compiler_error(
      "Tables in a dbt-vcs repository are Parquet, and take every strategy; found: file_format "
      ~ raw_file_format ~ ". Remove the config file_format."
    ) -%}
  {%- endif -%}
  {{ return(raw_file_format) }}
{% endmacro %}
