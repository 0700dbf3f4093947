{#- dbt-spark's; without a name, its SQL would drop a schema called cascade. -#}
{% macro vcs__drop_schema(relation) -%}
  {%- do vcs_require_schema(relation, 'drop') -%}
  {{ return(spark__drop_schema(relation)) }}
{%- endmacro %}


{% macro vcs_require_schema(relation, verb) -%}
  {%- if not relation.schema -%}
    {%- do exceptions.raise_compiler_error(
      "There is no schema name to " ~ verb ~ ": the relation has none. Give it one: "
      ~ "api.Relation.create(schema='analytics')."
    ) -%}
  {%- endif -%}
{%- endmacro %}
