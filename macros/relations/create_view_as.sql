{#- dbt-spark's, preceded by the config sql_header. -#}
{% macro vcs__create_view_as(relation, sql) -%}
  {%- do adapter.vcs_check_query(sql) -%}
  {{ vcs_sql_header() }}
  {{ spark__create_view_as(relation, sql) }}
{%- endmacro %}
