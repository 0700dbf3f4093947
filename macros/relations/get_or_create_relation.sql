{#- dbt's own uses the database of a node, which doesn't exist on Spark. -#}
{% macro vcs__get_or_create_relation(database, schema, identifier, type) -%}
  {{ return(default__get_or_create_relation(none, schema, identifier, type)) }}
{%- endmacro %}
