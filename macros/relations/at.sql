{#- A version of a table to select from: a ref, a source or a name, at a named snapshot or revision.
    -#}
{% macro at(relation, revision) %}
  {{ return(adapter.dispatch('at', 'dbt')(relation, revision)) }}
{% endmacro %}

{% macro default__at(relation, revision) -%}
  {% if not revision %}
    {% do exceptions.raise_compiler_error("at() needs a revision: at(ref('orders'), 'main~1')") %}
  {% endif %}
  {% do return(relation ~ ' version as of ' ~ vcs_text_literal(revision | string)) %}
{%- endmacro %}
