{#- dbt-spark's wants Delta; dbt's own says what it needs through macros, of which one is ours. -#}
{% materialization snapshot, adapter='vcs' -%}
  {{ return(materialization_snapshot_default()) }}
{%- endmaterialization %}
