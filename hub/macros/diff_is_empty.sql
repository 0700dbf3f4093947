{#- There are no differences. -#}
{% test diff_is_empty(model, compared_to=none) %}
  {% if dbt_vcs_diff.check_adapter('diff_is_empty') %}
  {{ default__test_diff_is_empty(model, compared_to) }}
  {% endif %}
{% endtest %}
