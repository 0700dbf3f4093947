{#- An aggregate function: the config entry_point names a class with accumulate and finish. -#}
{% macro vcs__aggregate_function_python(target_relation) %}
    {{ get_aggregate_function_create_replace_signature(target_relation) }}
{% endmacro %}


{% macro vcs__get_aggregate_function_create_replace_signature(target_relation) %}
    CREATE OR REPLACE AGGREGATE FUNCTION {{ target_relation.render() }} ({{ get_formatted_aggregate_function_args() }})
    RETURNS {{ model.returns.data_type }}
    {{ get_aggregate_function_volatility_specifier() }}
    {{ comment_clause() }}
    {{ vcs_function_source() }}
{% endmacro %}


{#- Spark calls a Python aggregate only with the arguments given, and supports no defaults. -#}
{% macro vcs__get_formatted_aggregate_function_args() %}
    {%- set args = [] -%}
    {%- for arg in model.arguments -%}
        {%- if arg.get('default_value') is not none -%}
            {%- do exceptions.warn(
              "The default value of " ~ arg.name ~ " is ignored: an aggregate function ("
              ~ model.name ~ ") has none on Spark."
            ) -%}
        {%- endif -%}
        {%- do args.append(adapter.quote(arg.name) ~ ' ' ~ arg.data_type) -%}
    {%- endfor -%}
    {{ args | join(', ') }}
{%- endmacro %}
