{#- Only these columns differ: comparing the others, no row was added, removed or modified. -#}
{% test diff_only_columns(model, columns, compared_to=none) %}
  {% if dbt_vcs_diff.check_adapter('diff_only_columns') %}
  {{ default__test_diff_only_columns(model, columns, compared_to) }}
  {% endif %}
{% endtest %}
