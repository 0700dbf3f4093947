{#- Resolve conflicts with ours, theirs, base or delete: those of a relation, of a key of it, or all
    unresolved ones; or with values for a row: relation, key: {id: 17}, set: {credit: '11.50'}. -#}
{% macro vcs_resolve(choice=none, relation=none, key=none, target=none, set=none, again=none) %}
  {{ return(adapter.dispatch('vcs_resolve', 'dbt')(choice, relation, key, target, set, again, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_resolve(choice, relation, key, target, set, again) %}
  {% do vcs_verb('resolve', {
    'choice': choice, 'relation': relation, 'key': key, 'target': target, 'set': set, 'again': again
  }, kwargs) %}
{% endmacro %}
