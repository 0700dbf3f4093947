{#- Restore a relation, or the target's whole branch, to a revision. -#}
{% macro vcs_restore(relation=none, to=none, all=false, dry_run=false, message=none) %}
  {{ return(adapter.dispatch('vcs_restore', 'dbt')(relation, to, all, dry_run, message, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_restore(relation, to, all, dry_run, message) %}
  {% do vcs_verb('restore', {
    'relation': none if relation is none else relation | string, 'to': to, 'all': all, 'dry_run': dry_run, 'message': message
  }, kwargs) %}
{% endmacro %}
