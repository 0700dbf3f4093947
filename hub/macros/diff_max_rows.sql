{#- At most this many rows were added, removed or modified. -#}
{% test diff_max_rows(model, max, compared_to=none) %}
  {% if dbt_vcs_diff.check_adapter('diff_max_rows') %}
  {{ default__test_diff_max_rows(model, max, compared_to) }}
  {% endif %}
{% endtest %}
