{#- dbt's own: dbt-spark's uses `insert *`, which requires every column of the table in the rows.
    -#}
{% macro vcs__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates=none) -%}
  {{ return(default__get_merge_sql(target, source, unique_key, dest_columns, incremental_predicates)) }}
{%- endmacro %}


{% macro vcs__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns) %}
  {{ return(default__get_merge_update_columns(merge_update_columns, merge_exclude_columns, dest_columns)) }}
{% endmacro %}
