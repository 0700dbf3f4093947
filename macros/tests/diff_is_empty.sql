{#- There are no differences. -#}
{% test diff_is_empty(model, compared_to=none) %}
  {{ adapter.dispatch('test_diff_is_empty', 'dbt')(model, compared_to) }}
{% endtest %}

{% macro default__test_diff_is_empty(model, compared_to) %}

select * from {{ vcs_tested_changes(model, compared_to) }}

{% endmacro %}
