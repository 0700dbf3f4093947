{#- Show what the tables of a revision take up, by default of the target's branch. -#}
{% macro vcs_du(revision=none) %}
  {{ return(adapter.dispatch('vcs_du', 'dbt')(revision, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_du(revision) %}
  {% do vcs_verb('du', {'revision': revision}, kwargs) %}
{% endmacro %}
