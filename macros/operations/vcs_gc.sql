{#- Delete files that nothing needs; with retention, keep history without a name for so many days
    instead: with force also where that takes something away. -#}
{% macro vcs_gc(dry_run=false, retention=none, force=false) %}
  {{ return(adapter.dispatch('vcs_gc', 'dbt')(dry_run, retention, force)) }}
{% endmacro %}

{% macro default__vcs_gc(dry_run, retention, force) %}
  {% do vcs_verb('gc', {
    'dry_run': dry_run, 'retention': retention, 'force': force
  }) %}
{% endmacro %}
