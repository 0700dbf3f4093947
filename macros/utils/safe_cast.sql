{#- dbt-spark's takes a literal for an expression where Spark casts no text to the type, as in the
    fixtures of unit tests, and leaves its quotes escaped: array(\'a\'). -#}
{% macro vcs__safe_cast(field, type) %}
  {%- if field is string and cast_from_string_unsupported_for(type) -%}
    {%- set field = field.strip('"').strip("'") | replace("\\'", "'") -%}
  {%- endif -%}
  cast({{ field }} as {{ type }})
{%- endmacro %}
