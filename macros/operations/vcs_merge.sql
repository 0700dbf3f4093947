{#- Merge a branch, a run's too, into another one: into the target's branch unless given.
    With action: continue or abort, go on with a merge whose conflicts are resolved, or give it up. -#}
{% macro vcs_merge(source=none, target=none, dry_run=false, force=false, message=none, on_conflict=none, action='merge') %}
  {{ return(adapter.dispatch('vcs_merge', 'dbt')(source, target, dry_run, force, message, on_conflict, action)) }}
{% endmacro %}

{% macro default__vcs_merge(source, target, dry_run, force, message, on_conflict, action) %}
  {% do vcs_verb('merge', {
    'source': source, 'target': target, 'dry_run': dry_run, 'force': force, 'message': message,
    'on_conflict': on_conflict, 'action': action
  }) %}
{% endmacro %}
