{#- dbt makes the schemas of the models of a run, and not those of its functions. -#}
{% macro vcs__function_execute_build_sql(build_sql, existing_relation, target_relation) %}
    {%- do adapter.create_schema(target_relation) -%}
    {{ default__function_execute_build_sql(build_sql, existing_relation, target_relation) }}
{% endmacro %}
