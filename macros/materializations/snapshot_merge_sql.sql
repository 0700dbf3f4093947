{#- The history with closed rows and new ones, written anew: versioned tables know no MERGE yet.
    Without a change nothing is written. -#}
{% macro vcs__snapshot_merge_sql(target, source, insert_cols) -%}
  {%- set names = config.get("snapshot_table_column_names") or get_snapshot_table_column_names() -%}
  {%- set id, valid_to = adapter.quote(names.dbt_scd_id), adapter.quote(names.dbt_valid_to) -%}
  {%- set current = config.get("dbt_valid_to_current") -%}
  {%- set changes = run_query("select count(*) as n from " ~ source).columns[0][0] -%}
  {%- if changes == 0 -%}
    select 'no row changed' as outcome
  {%- else -%}
    {%- set columns = adapter.get_columns_in_relation(target) | map(attribute="quoted") | list -%}
    {%- set given = insert_cols | map("lower") | list -%}
    insert overwrite table {{ target }}
    select
      {%- for column in columns %}
      {% if column | lower == valid_to | lower -%}
        case when closed.id is null then kept.{{ column }} else closed.valid_to end
      {%- else -%}
        kept.{{ column }}
      {%- endif -%}
      {{- "," if not loop.last -}}
      {%- endfor %}
    from {{ target }} as kept
    left join (
      select {{ id }} as id, max({{ valid_to }}) as valid_to
      from {{ source }}
      where dbt_change_type in ('update', 'delete')
      group by {{ id }}
    ) as closed
      on closed.id = kept.{{ id }}
      and (kept.{{ valid_to }} is null{% if current %} or kept.{{ valid_to }} = {{ current }}{% endif %})
    union all
    select
      {%- for column in columns %}
      {% if column | lower in given %}added.{{ column }}{% else %}null{% endif %}
      {{- "," if not loop.last -}}
      {%- endfor %}
    from {{ source }} as added
    left anti join {{ target }} as kept on kept.{{ id }} = added.{{ id }}
    where added.dbt_change_type = 'insert'
  {%- endif -%}
{%- endmacro %}
