{#- A scalar function: the config entry_point names it in the source. -#}
{% macro vcs__scalar_function_python(target_relation) %}
    {{ scalar_function_create_replace_signature_sql(target_relation) }}
    {{ vcs_function_source() }}
{% endmacro %}


{#- A Python function's options, and its source between delimiters that don't occur in it. The
    source starts on the first line, so that line numbers in errors match the file's. -#}
{% macro vcs_function_source() %}
    {%- set source = model.compiled_code -%}
    {%- set mark = '$$' if '$$' not in source else '$' ~ local_md5(source) ~ '$' -%}
    {{ get_function_language_specifier() }}
    {{ get_function_python_options() }}
    AS {{ mark }}{{ source }}
{{ mark }}
{%- endmacro %}
