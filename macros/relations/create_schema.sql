{#- dbt-spark's, for a schema that has a name. -#}
{% macro vcs__create_schema(relation) -%}
  {%- do vcs_require_schema(relation, 'create') -%}
  {{ return(spark__create_schema(relation)) }}
{%- endmacro %}
