{#- Which rows generic tests read: `all`, or `diff` for `--vars '{vcs_scope: diff}'`. -#}
{% macro vcs_scope() %}
  {% set scope = var('vcs_scope', none) or 'all' %}
  {% if scope not in ('all', 'diff') %}
    {% do exceptions.raise_compiler_error(
      "The variable vcs_scope is '" ~ scope ~ "'; expected 'diff', to test only changed rows, "
      "or 'all'."
    ) %}
  {% endif %}
  {% do return(scope) %}
{% endmacro %}
