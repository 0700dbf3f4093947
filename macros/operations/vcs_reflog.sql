{#- Show the moves of a branch or tag, by default of the target's branch, newest first. -#}
{% macro vcs_reflog(name=none, limit=20) %}
  {{ return(adapter.dispatch('vcs_reflog', 'dbt')(name, limit, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_reflog(name, limit) %}
  {% do vcs_verb('reflog', {'name': name, 'limit': limit}, kwargs) %}
{% endmacro %}
