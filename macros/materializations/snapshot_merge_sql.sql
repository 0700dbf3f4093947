{#- dbt's own: dbt-spark's uses `insert *`, which requires every column of the history in the query.
    -#}
{% macro vcs__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- do vcs_sync_properties(target) -%}
  {{ return(default__snapshot_merge_sql(target, source, insert_cols)) }}
{%- endmacro %}
