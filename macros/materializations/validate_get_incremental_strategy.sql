{#- Redefines dbt-spark's macro, which is not dispatched and asks for Delta. -#}
{% macro dbt_spark_validate_get_incremental_strategy(raw_strategy, file_format) %}
  {%- set accepted = ['append', 'insert_overwrite', 'microbatch'] -%}
  {%- if raw_strategy not in accepted -%}
    {%- do exceptions.raise_compiler_error(
      "The incremental strategy '" ~ raw_strategy ~ "' is not supported on versioned tables yet. "
      ~ "Expected one of: " ~ accepted | join(", ") ~ "."
    ) -%}
  {%- endif -%}
  {{ return(raw_strategy) }}
{% endmacro %}
