{#- The expression is not false for any added or modified row, as the row is now. -#}
{% test diff_expression_is_true(model, expression, column_name=none, compared_to=none) %}
  {% if dbt_vcs_diff.check_adapter('diff_expression_is_true') %}
  {{
    default__test_diff_expression_is_true(
      model, expression, column_name, compared_to
    )
  }}
  {% endif %}
{% endtest %}
