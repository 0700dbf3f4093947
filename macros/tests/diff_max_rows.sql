{#- At most this many rows were added, removed or modified. -#}
{% test diff_max_rows(model, max, compared_to=none) %}
  {{ adapter.dispatch('test_diff_max_rows', 'dbt')(model, max, compared_to) }}
{% endtest %}

{% macro default__test_diff_max_rows(model, max, compared_to) %}

select count(*) as changed_rows
from {{ vcs_tested_changes(model, compared_to) }}
where _change_type <> 'update_preimage'
having count(*) > {{ max }}

{% endmacro %}
