{#- Erase the rows of a table for which a condition is true from all versions on all branches, tags
    and named snapshots. With redact, also take texts out of commit messages. -#}
{% macro vcs_purge(relation, where, redact=none, dry_run=false, protected=false) %}
  {{ return(adapter.dispatch('vcs_purge', 'dbt')(
    relation, where, redact, dry_run, protected, **kwargs
  )) }}
{% endmacro %}

{% macro default__vcs_purge(relation, where, redact, dry_run, protected) %}
  {% do vcs_verb('purge', {
    'relation': relation, 'where': where, 'redact': redact, 'dry_run': dry_run,
    'protected': protected
  }, kwargs) %}
{% endmacro %}
