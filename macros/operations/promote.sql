{#- Publish all tables of a branch at once: vcs_merge under the name of what it is for. -#}
{% macro promote(source, target=none) %}
  {{ return(adapter.dispatch('promote', 'dbt')(source, target)) }}
{% endmacro %}

{% macro default__promote(source, target) %}
  {% do vcs_merge(source, target) %}
{% endmacro %}
