{#- The part before a function's body; `data_type: table(id int, ...)` makes it return rows. -#}
{% macro vcs__scalar_function_create_replace_signature_sql(target_relation) %}
    CREATE OR REPLACE FUNCTION {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() }})
    RETURNS {{ model.returns.data_type }}
    {{ scalar_function_volatility_sql() }}
    {{ comment_clause() }}
{% endmacro %}


{% macro vcs__formatted_scalar_function_args_sql() %}
    {%- set args = [] -%}
    {%- for arg in model.arguments -%}
        {%- set default = '' if arg.get('default_value') is none else ' DEFAULT ' ~ arg.default_value -%}
        {%- do args.append(adapter.quote(arg.name) ~ ' ' ~ arg.data_type ~ default) -%}
    {%- endfor -%}
    {{ args | join(', ') }}
{%- endmacro %}


{% macro vcs__scalar_function_volatility_sql() %}
    {%- set volatility = model.config.get('volatility') -%}
    {%- if volatility == 'deterministic' -%}
        DETERMINISTIC
    {%- elif volatility == 'non-deterministic' -%}
        NOT DETERMINISTIC
    {%- elif volatility is not none -%}
        {%- do unsupported_volatility_warning(volatility) -%}
    {%- endif -%}
{%- endmacro %}
