{#- Publish a branch, all of its relations or none; the target branch can be protected. -#}
{% macro promote(source, target=none, on_conflict=none, message=none, metadata=none, dry_run=false) %}
  {{ return(adapter.dispatch('promote', 'dbt')(source, target, on_conflict, message, metadata, dry_run, **kwargs)) }}
{% endmacro %}

{% macro default__promote(source, target, on_conflict, message, metadata, dry_run) %}
  {% do vcs_verb('promote', {
    'source': source, 'target': target, 'on_conflict': on_conflict, 'message': message,
    'metadata': metadata, 'dry_run': dry_run
  }, kwargs) %}
{% endmacro %}
