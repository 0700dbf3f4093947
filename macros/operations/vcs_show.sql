{#- Show one commit: the run that it publishes, and what it changed. -#}
{% macro vcs_show(revision=none) %}
  {{ return(adapter.dispatch('vcs_show', 'dbt')(revision, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_show(revision) %}
  {% do vcs_verb('show', {'revision': revision}, kwargs) %}
{% endmacro %}
