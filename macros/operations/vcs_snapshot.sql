{#- Named snapshots: action is list, create (of relation, at a revision), delete,
    protect or unprotect. -#}
{% macro vcs_snapshot(action='list', relation=none, name=none, at=none, note=none) %}
  {{ return(adapter.dispatch('vcs_snapshot', 'dbt')(action, relation, name, at, note, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_snapshot(action, relation, name, at, note) %}
  {% do vcs_verb('snapshot', {
    'action': action, 'relation': none if relation is none else relation | string,
    'name': name, 'at': at, 'note': note
  }, kwargs) %}
{% endmacro %}
