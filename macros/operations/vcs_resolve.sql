{#- Resolve conflicts with ours, theirs, base or delete: those of a relation, of a key of it, or all
    unresolved ones; with larger or smaller by a column; with a side for each column, cell:
    {credit: larger}; or with values for a row: relation, key: {id: 17}, set: {credit: '11.50'}.
    undo: true takes back the last choice. -#}
{% macro vcs_resolve(choice=none, relation=none, key=none, target=none, set=none, again=none, by=none, cell=none, undo=none) %}
  {{ return(adapter.dispatch('vcs_resolve', 'dbt')(choice, relation, key, target, set, again, by, cell, undo, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_resolve(choice, relation, key, target, set, again, by, cell, undo) %}
  {% do vcs_verb('resolve', {
    'choice': choice, 'relation': relation, 'key': key, 'target': target, 'set': set, 'again': again,
    'by': by, 'cell': cell, 'undo': undo
  }, kwargs) %}
{% endmacro %}
