{#-
  The difference of two versions of a table, to select from in a model, a test or an analysis:

    select * from {{ snapshot_diff(ref('orders'), from='main', shape='changes') }}

  `from` and `to` are named snapshots, revisions or times of the relation; another relation means
  its current version on the branch. By default, `from` is where the branch forked from the target's
  `base` branch, and `to` is the branch's current version.
-#}
{% macro snapshot_diff(relation, from=none, to=none, shape='wide', columns=none, where=none) %}
  {% if dbt_vcs_diff.check_adapter('snapshot_diff') %}
  {{ return(default__snapshot_diff(relation, from, to, shape, columns, where)) }}
  {% endif %}
{% endmacro %}
