{% macro vcs__comment_clause() -%}
  {%- set persist = config.get('persist_docs', {}) -%}
  {%- if persist is not mapping -%}
    {{ exceptions.raise_compiler_error(
      "persist_docs must be a mapping such as {relation: true}; found: " ~ persist
    ) }}
  {%- elif persist.get('relation', false) and model.description -%}
    comment {{ vcs_text_literal(model.description) }}
  {%- endif -%}
{%- endmacro %}
