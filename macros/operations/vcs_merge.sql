{#- Merge a branch, which can be a run's, into another branch, by default the target's. action:
    continue finishes a merge whose conflicts are resolved, action: abort aborts it. -#}
{% macro vcs_merge(source=none, target=none, dry_run=false, force=false, message=none, on_conflict=none, action='merge') %}
  {{ return(adapter.dispatch('vcs_merge', 'dbt')(source, target, dry_run, force, message, on_conflict, action, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_merge(source, target, dry_run, force, message, on_conflict, action) %}
  {% do vcs_verb('merge', {
    'source': source, 'target': target, 'dry_run': dry_run, 'force': force, 'message': message,
    'on_conflict': on_conflict, 'action': action
  }, kwargs) %}
{% endmacro %}
