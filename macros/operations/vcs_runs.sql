{#- Runs that left a branch behind: action is list, discard (one by id, or all expired ones) or
    publish. -#}
{% macro vcs_runs(action='list', id=none, expired=false, force=false) %}
  {{ return(adapter.dispatch('vcs_runs', 'dbt')(action, id, expired, force, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_runs(action, id, expired, force) %}
  {% do vcs_verb('runs', {'action': action, 'id': id, 'expired': expired, 'force': force}, kwargs) %}
{% endmacro %}
