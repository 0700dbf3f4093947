{#- A text as Spark SQL reads it in single quotes. -#}
{% macro vcs_text_literal(text) -%}
  '{{ text | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}
