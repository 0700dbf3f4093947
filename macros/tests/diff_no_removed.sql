{#- No row was removed; without a primary key, a changed row counts as one removed and one added.
    -#}
{% test diff_no_removed(model, compared_to=none) %}
  {{ adapter.dispatch('test_diff_no_removed', 'dbt')(model, compared_to) }}
{% endtest %}

{% macro default__test_diff_no_removed(model, compared_to) %}

select * from {{ vcs_tested_changes(model, compared_to) }} where _change_type = 'delete'

{% endmacro %}
