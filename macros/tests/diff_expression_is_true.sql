{#- The expression is not false for any added or modified row, as the row is now. -#}
{% test diff_expression_is_true(model, expression, column_name=none, compared_to=none) %}
  {{
    adapter.dispatch('test_diff_expression_is_true', 'dbt')(
      model, expression, column_name, compared_to
    )
  }}
{% endtest %}

{% macro default__test_diff_expression_is_true(model, expression, column_name, compared_to) %}

select *
from {{ vcs_tested_changes(model, compared_to) }}
where _change_type in ('insert', 'update_postimage')
    and not ({{ column_name ~ ' ' if column_name else '' }}{{ expression }})

{% endmacro %}
