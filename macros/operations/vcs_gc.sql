{#- Delete files that nothing needs; with retention, keep history without a name for so many days instead. -#}
{% macro vcs_gc(dry_run=false, retention=none) %}
  {{ return(adapter.dispatch('vcs_gc', 'dbt')(dry_run, retention)) }}
{% endmacro %}

{% macro default__vcs_gc(dry_run, retention) %}
  {% do vcs_verb('gc', {
    'dry_run': dry_run, 'retention': retention
  }) %}
{% endmacro %}
