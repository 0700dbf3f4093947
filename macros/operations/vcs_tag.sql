{#- Tags: action is list, create (at a revision, by default at the target's branch), rename (to
    another name), delete, protect or unprotect. -#}
{% macro vcs_tag(action='list', name=none, at=none, note=none, to=none) %}
  {{ return(adapter.dispatch('vcs_tag', 'dbt')(action, name, at, note, to, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_tag(action, name, at, note, to) %}
  {% do vcs_verb('tag', {'action': action, 'name': name, 'at': at, 'note': note, 'to': to}, kwargs) %}
{% endmacro %}
