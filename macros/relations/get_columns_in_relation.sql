{#- Columns, as on other adapters; dbt-spark's answers the rows of DESCRIBE. -#}
{% macro vcs__get_columns_in_relation(relation) -%}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{%- endmacro %}
