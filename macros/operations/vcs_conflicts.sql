{#- Show the conflicts of a merge into a branch; with a relation, its rows. -#}
{% macro vcs_conflicts(target=none, relation=none, limit=20) %}
  {{ return(adapter.dispatch('vcs_conflicts', 'dbt')(target, relation, limit, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_conflicts(target, relation, limit) %}
  {% do vcs_verb('conflicts', {'target': target, 'relation': relation, 'limit': limit}, kwargs) %}
{% endmacro %}
