{#- An expression or a query, as Spark's SQL functions accept it. -#}
{% macro vcs__scalar_function_body_sql() %}
    RETURN
    {{ model.compiled_code }}
{% endmacro %}
