{#- Tags: action is list, create (at a revision, else at the target's branch) or delete. -#}
{% macro vcs_tag(action='list', name=none, at=none, note=none) %}
  {{ return(adapter.dispatch('vcs_tag', 'dbt')(action, name, at, note)) }}
{% endmacro %}

{% macro default__vcs_tag(action, name, at, note) %}
  {% do vcs_verb('tag', {'action': action, 'name': name, 'at': at, 'note': note}) %}
{% endmacro %}
