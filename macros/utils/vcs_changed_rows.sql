{#-
  Rows that were added to or removed from a table since the branch forked from the target's `base`.

  `added` and modified rows as they are now, or `removed` and modified ones as they were.
-#}
{% macro vcs_changed_rows(relation, side='added') %}
  {% set kinds = {
    'added': "'insert', 'update_postimage'", 'removed': "'delete', 'update_preimage'"
  } %}
  {% do return(
    'select * except (_change_type) from ' ~ snapshot_diff(relation, shape='changes')
    ~ ' where _change_type in (' ~ kinds[side] ~ ')'
  ) %}
{% endmacro %}
