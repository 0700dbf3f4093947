{#- dbt creates the schemas of a run's models, but not those of its functions. -#}
{% macro vcs__function_execute_build_sql(build_sql, existing_relation, target_relation) %}
    {%- do adapter.create_schema(target_relation) -%}
    {{ default__function_execute_build_sql(build_sql, existing_relation, target_relation) }}
{% endmacro %}
