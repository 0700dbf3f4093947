{#- Merge the changes from another version of a table, or from a clone of it. source is schema.table
    or schema.table@version; on_conflict is fail, skip, accept, cell, cell_skip or cell_accept. -#}
{% macro snapshot_merge(target, source, based_on=none, on_conflict=none, dry_run=false) %}
  {{ return(adapter.dispatch('snapshot_merge', 'dbt')(target, source, based_on, on_conflict, dry_run)) }}
{% endmacro %}

{% macro default__snapshot_merge(target, source, based_on, on_conflict, dry_run) %}
  {% set statement -%}
    snapshot merge table {{ target }} from {{ vcs_version(source) }}
    {%- if based_on %} based on {{ vcs_version(based_on) }}{% endif %}
    {%- if on_conflict %} when conflict {{ on_conflict }}{% endif %}
    {%- if dry_run %} dry run{% endif %}
  {%- endset %}
  {% do vcs_log_rows(run_query(statement)) %}
{% endmacro %}
