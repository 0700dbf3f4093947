{#- schema.table@version in SQL form: schema.table version as of '...'. -#}
{% macro vcs_version(text) %}
  {%- set name, at, version = (text ~ '').partition('@') -%}
  {{- name -}}
  {%- if at %}{snapshot={{ vcs_text_literal(version) }}}{% endif -%}
{% endmacro %}
