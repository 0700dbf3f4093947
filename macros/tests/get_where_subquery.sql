{#-
  What `model` means in a generic test: the relation, its rows that match `where`, or with
  `vcs_scope: diff` the changed ones among these. Views and sources that are not versioned can't be
  compared, and are read in full.
-#}
{% macro vcs__get_where_subquery(relation) %}
  {% set test = (model.get('test_metadata') or {}) if model is mapping else {} %}
  {% set on_diffs = [
    'diff_is_empty', 'diff_max_rows', 'diff_max_change_ratio', 'diff_no_removed',
    'diff_only_columns', 'diff_expression_is_true'
  ] %}
  {% set where = config.get('where', '') %}
  {% if test.get('name') in on_diffs and test.get('namespace') in (none, 'dbt', 'dbt_vcs_diff') %}
    {% do return(relation) %}
  {% elif vcs_scope() == 'diff' and adapter.vcs_is_table(relation) %}
    {% set changed = vcs_changed_rows(relation) ~ (' and (' ~ where ~ ')' if where else '') %}
    {% do return(relation.replace(subquery=changed)) %}
  {% endif %}
  {% do return(default__get_where_subquery(relation)) %}
{% endmacro %}
