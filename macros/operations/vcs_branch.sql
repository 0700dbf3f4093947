{#- Branches: action is list, create (at a revision, else at the default branch) or delete. -#}
{% macro vcs_branch(action='list', name=none, at=none, force=false) %}
  {{ return(adapter.dispatch('vcs_branch', 'dbt')(action, name, at, force)) }}
{% endmacro %}

{% macro default__vcs_branch(action, name, at, force) %}
  {% do vcs_verb('branch', {'action': action, 'name': name, 'at': at, 'force': force}) %}
{% endmacro %}
