{#- dbt-spark's macro requires Delta; dbt's own works through macros, of which one is ours. -#}
{% materialization snapshot, adapter='vcs' -%}
  {{ return(materialization_snapshot_default()) }}
{%- endmaterialization %}
