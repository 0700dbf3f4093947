{#- List tables that were made from other versions than a revision shows, by default the target's
    branch; with select=true, what dbt's --select takes to build them again. -#}
{% macro vcs_stale(revision=none, select=false) %}
  {{ return(adapter.dispatch('vcs_stale', 'dbt')(revision, select, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_stale(revision, select) %}
  {% do vcs_verb('stale', {'revision': revision, 'select': select}, kwargs) %}
{% endmacro %}
