{#- Show the history of a revision, by default of the target's branch; optionally of one
    schema.table. -#}
{% macro vcs_log(revision=none, limit=20, relation=none) %}
  {{ return(adapter.dispatch('vcs_log', 'dbt')(revision, limit, relation, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_log(revision, limit, relation) %}
  {% do vcs_verb('log', {'revision': revision, 'limit': limit, 'relation': relation}, kwargs) %}
{% endmacro %}
