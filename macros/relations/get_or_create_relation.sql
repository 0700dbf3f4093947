{#- dbt's own takes the database of a node, which on Spark is none. -#}
{% macro vcs__get_or_create_relation(database, schema, identifier, type) -%}
  {{ return(default__get_or_create_relation(none, schema, identifier, type)) }}
{%- endmacro %}
