{#- Where the repository and the target's branch stand. -#}
{% macro vcs_status() %}
  {{ return(adapter.dispatch('vcs_status', 'dbt')()) }}
{% endmacro %}

{% macro default__vcs_status() %}
  {% do vcs_verb('status', {}) %}
{% endmacro %}
