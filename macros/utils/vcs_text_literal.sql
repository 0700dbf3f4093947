{#- Text as a Spark SQL literal in single quotes. -#}
{% macro vcs_text_literal(text) -%}
  '{{ text | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}
