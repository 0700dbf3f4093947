{#- Returns columns, as other adapters do; dbt-spark's macro returns the rows of DESCRIBE. -#}
{% macro vcs__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}
