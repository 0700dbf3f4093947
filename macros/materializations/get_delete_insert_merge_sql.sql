{#- In a single statement: dbt's own has two, and the model, a temporary view that may read the
    table itself, would return different rows to the second one. The source's columns have their own
    names, so that incremental_predicates can use the table's column names as in a DELETE. Rows to
    insert match no row of the table; they join on a hash of their key, so that they don't all end
    up in one task and the statement gives the same rows each time. -#}
{% macro vcs__get_delete_insert_merge_sql(target, source, unique_key, dest_columns, incremental_predicates) -%}
  {%- if not unique_key -%}
    {{ return(get_insert_into_sql(source, target)) }}
  {%- endif -%}
  {%- set keys = [unique_key] if unique_key is string else unique_key -%}
  merge into {{ target }} as DBT_INTERNAL_DEST
  using (
    select distinct 'delete' as dbt_change
      {%- for key in keys %}, {{ key }} as dbt_key_{{ loop.index }}{% endfor %}
      {%- for column in dest_columns %}, null as dbt_value_{{ loop.index }}{% endfor %}
    from {{ source }} as DBT_INTERNAL_SOURCE
    union all
    select concat('insert', pmod(hash({{ keys | join(", ") }}), 1000))
      {%- for key in keys %}, null{% endfor %}
      {%- for column in dest_columns %}, {{ column.quoted }}{% endfor %}
    from {{ source }} as DBT_INTERNAL_SOURCE
  ) as DBT_INTERNAL_SOURCE
  on case when {{ keys[0] }} is not null then 'delete' end = DBT_INTERNAL_SOURCE.dbt_change
    {%- for key in keys %}
    and {{ key }} = DBT_INTERNAL_SOURCE.dbt_key_{{ loop.index }}
    {%- endfor %}
    {%- for predicate in incremental_predicates or [] %}
    and ({{ predicate }})
    {%- endfor %}
  when matched then delete
  when not matched and DBT_INTERNAL_SOURCE.dbt_change <> 'delete' then insert
    ({{ dest_columns | map(attribute='quoted') | join(", ") }})
    values (
      {%- for column in dest_columns -%}
        DBT_INTERNAL_SOURCE.dbt_value_{{ loop.index }}{{ ", " if not loop.last }}
      {%- endfor -%}
    )
{%- endmacro %}
