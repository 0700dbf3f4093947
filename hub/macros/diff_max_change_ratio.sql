{#-
  At most this share of the previous rows was added, removed or modified: 0.1 is ten percent. A table
  that had no rows passes.
-#}
{% test diff_max_change_ratio(model, max, compared_to=none) %}
  {% if dbt_vcs_diff.check_adapter('diff_max_change_ratio') %}
  {{ default__test_diff_max_change_ratio(model, max, compared_to) }}
  {% endif %}
{% endtest %}
