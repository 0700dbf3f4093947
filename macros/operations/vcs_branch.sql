{#- Branches: action is list, create (at a revision, by default at the default branch), rename (to
    another name), delete, undelete, protect (require: [tests]) or unprotect. -#}
{% macro vcs_branch(action='list', name=none, at=none, force=false, require=none, to=none) %}
  {{ return(adapter.dispatch('vcs_branch', 'dbt')(action, name, at, force, require, to, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_branch(action, name, at, force, require, to) %}
  {% do vcs_verb('branch', {
    'action': action, 'name': name, 'at': at, 'force': force, 'require': require, 'to': to
  }, kwargs) %}
{% endmacro %}
