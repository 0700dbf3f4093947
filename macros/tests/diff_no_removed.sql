{#- No row is gone; without a primary key a row with another value is a removed and an added one. -#}
{% test diff_no_removed(model, compared_to=none) %}
  {{ adapter.dispatch('test_diff_no_removed', 'dbt')(model, compared_to) }}
{% endtest %}

{% macro default__test_diff_no_removed(model, compared_to) %}

select * from {{ vcs_tested_changes(model, compared_to) }} where _change_type = 'delete'

{% endmacro %}
