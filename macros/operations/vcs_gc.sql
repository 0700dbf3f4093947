{#- Delete files that are no longer needed. With retention, only set how many days unnamed history
    is kept; if that would delete something, it also needs force. -#}
{% macro vcs_gc(dry_run=false, retention=none, force=false) %}
  {{ return(adapter.dispatch('vcs_gc', 'dbt')(dry_run, retention, force, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_gc(dry_run, retention, force) %}
  {% do vcs_verb('gc', {
    'dry_run': dry_run, 'retention': retention, 'force': force
  }, kwargs) %}
{% endmacro %}
