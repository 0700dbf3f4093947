{#- No row was removed; without a primary key, a changed row counts as one removed and one added.
    -#}
{% test diff_no_removed(model, compared_to=none) %}
  {% if dbt_vcs_diff.check_adapter('diff_no_removed') %}
  {{ default__test_diff_no_removed(model, compared_to) }}
  {% endif %}
{% endtest %}
