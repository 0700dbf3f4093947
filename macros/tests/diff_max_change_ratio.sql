{#-
  At most this share of the previous rows was added, removed or modified: 0.1 is ten percent. A table
  that had no rows passes.
-#}
{% test diff_max_change_ratio(model, max, compared_to=none) %}
  {{ adapter.dispatch('test_diff_max_change_ratio', 'dbt')(model, max, compared_to) }}
{% endtest %}

{% macro default__test_diff_max_change_ratio(model, max, compared_to) %}

select changed_rows, rows_before
from (
    select
        count_if(_change_type <> 'update_preimage') as changed_rows,
        (select count(*) from {{ default__get_where_subquery(model) }})
            - count_if(_change_type in ('insert', 'update_postimage'))
            + count_if(_change_type in ('delete', 'update_preimage')) as rows_before
    from {{ vcs_tested_changes(model, compared_to) }}
) as counted
where rows_before > 0 and changed_rows > {{ max }} * rows_before

{% endmacro %}
