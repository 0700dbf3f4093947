{#- Merge a branch, a run's too, into another one: into the target's branch unless given. -#}
{% macro vcs_merge(source, target=none, dry_run=false, force=false, message=none) %}
  {{ return(adapter.dispatch('vcs_merge', 'dbt')(source, target, dry_run, force, message)) }}
{% endmacro %}

{% macro default__vcs_merge(source, target, dry_run, force, message) %}
  {% do vcs_verb('merge', {
    'source': source, 'target': target, 'dry_run': dry_run, 'force': force, 'message': message
  }) %}
{% endmacro %}
