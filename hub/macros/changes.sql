{#-
  What changed in a table since the version that this incremental model accounts for:

    select * from {{ changes(ref('orders')) }}

  All rows, as inserts, if the model's table is built for the first time or with --full-refresh. The
  model accounts for the changes once its run is published, and never for those of a failed run.
-#}
{% macro changes(relation, shape='changes', columns=none) %}
  {% if dbt_vcs_diff.check_adapter('changes') %}
  {{ return(default__changes(relation, shape, columns)) }}
  {% endif %}
{% endmacro %}
