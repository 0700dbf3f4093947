{#-
  The difference of two versions of a table, to select from in a model, a test or an analysis:

    select * from {{ snapshot_diff(ref('orders'), from='main', shape='changes') }}

  `from` and `to` are named snapshots, revisions or times of the relation; another relation means
  its current version on the branch. By default, `from` is where the branch forked from the target's
  `base` branch, and `to` is the branch's current version.
-#}
{% macro snapshot_diff(relation, from=none, to=none, shape='wide', columns=none, where=none) %}
  {{ return(adapter.dispatch('snapshot_diff', 'dbt')(relation, from, to, shape, columns, where)) }}
{% endmacro %}

{% macro default__snapshot_diff(relation, from, to, shape, columns, where) %}
  {% set before = from if from is not none else target.base ~ '...' %}
  {% set arguments = [
    vcs_text_literal(vcs_point(relation, before)),
    vcs_text_literal(vcs_point(relation, to)),
    'shape => ' ~ vcs_text_literal(shape)
  ] %}
  {% if columns %}
    {% set listed = columns if columns is string else columns | join(', ') %}
    {% do arguments.append('columns => ' ~ vcs_text_literal(listed)) %}
  {% endif %}
  {% if where %}
    {% do arguments.append('where => ' ~ vcs_text_literal(where)) %}
  {% endif %}
  {% do return('snapshot_diff(' ~ arguments | join(', ') ~ ')') %}
{% endmacro %}
