{#- A function of one row's values: the config entry_point names it in the source. -#}
{% macro vcs__scalar_function_python(target_relation) %}
    {{ scalar_function_create_replace_signature_sql(target_relation) }}
    {{ vcs_function_source() }}
{% endmacro %}


{#- A Python function's options, and its source between marks that it doesn't have in it; from the
    first line on, so that the lines in errors are the file's. -#}
{% macro vcs_function_source() %}
    {%- set source = model.compiled_code -%}
    {%- set mark = '$$' if '$$' not in source else '$' ~ local_md5(source) ~ '$' -%}
    {{ get_function_language_specifier() }}
    {{ get_function_python_options() }}
    AS {{ mark }}{{ source }}
{{ mark }}
{%- endmacro %}
