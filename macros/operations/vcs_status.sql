{#- Show the status of the repository and the target's branch. -#}
{% macro vcs_status() %}
  {{ return(adapter.dispatch('vcs_status', 'dbt')(**kwargs)) }}
{% endmacro %}

{% macro default__vcs_status() %}
  {% do vcs_verb('status', {}, kwargs) %}
{% endmacro %}
