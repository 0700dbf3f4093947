{#- dbt-spark's macro uses a literal as an expression where Spark can't cast text to the type, as in
    fixtures of unit tests, and leaves its quotes escaped: array(\'a\'). -#}
{% macro vcs__safe_cast(field, type) %}
  {%- if field is string and cast_from_string_unsupported_for(type) -%}
    {%- set field = field.strip('"').strip("'") | replace("\\'", "'") -%}
  {%- endif -%}
  cast({{ field }} as {{ type }})
{%- endmacro %}
