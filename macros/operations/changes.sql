{#-
  What changed in a table since the version that this incremental model accounts for:

    select * from {{ changes(ref('orders')) }}

  All rows, as inserts, if the model's table is built for the first time or with --full-refresh. The
  model accounts for the changes once its run is published, and never for those of a failed run.
-#}
{% macro changes(relation, shape='changes', columns=none) %}
  {{ return(adapter.dispatch('changes', 'dbt')(relation, shape, columns)) }}
{% endmacro %}

{% macro default__changes(relation, shape, columns) %}
  {% if not execute %}
    {% do return(relation) %}
  {% endif %}
  {% if model.resource_type == 'unit_test' and relation.is_cte %}
    {% do return(vcs_given_changes(relation, shape)) %}
  {% endif %}
  {% do vcs_check_changes(relation, shape) %}
  {% set step = adapter.vcs_increment(this, relation, not is_incremental()) %}
  {% set before = '' if step['before'] is none else vcs_point(relation, step['before']) %}
  {% set arguments = [
    vcs_text_literal(before),
    vcs_text_literal(vcs_point(relation, step['after'])),
    'shape => ' ~ vcs_text_literal(shape),
    'reader => ' ~ vcs_text_literal(vcs_point(this))
  ] %}
  {% if columns %}
    {% set listed = columns if columns is string else columns | join(', ') %}
    {% do arguments.append('columns => ' ~ vcs_text_literal(listed)) %}
  {% endif %}
  {% if flags.EMPTY %}
    {% do arguments.append("where => 'false'") %}
  {% endif %}
  {% do return('snapshot_diff(' ~ arguments | join(', ') ~ ')') %}
{% endmacro %}


{% macro vcs_check_changes(relation, shape) %}
  {% set found = none %}
  {% if model.config.materialized != 'incremental' %}
    {% set found = 'found it in a ' ~ model.resource_type ~ ' with materialized: '
      ~ model.config.materialized ~ ". Set materialized='incremental', or use snapshot_diff()" %}
  {% elif config.get('incremental_strategy') == 'microbatch' %}
    {% set found = 'found the strategy microbatch, whose batches are ranges of time, not of '
      ~ "versions. Choose another strategy, such as apply_changes" %}
  {% elif relation is string or relation is not mapping and relation.identifier is not defined %}
    {% set found = "found the text " ~ relation ~ ". Pass ref(...) or source(...) without at()" %}
  {% elif relation.is_cte %}
    {% set found = 'found the ephemeral model ' ~ relation.identifier
      ~ ', which has no versions. Pass the tables that it reads' %}
  {% elif relation.event_time_filter %}
    {% set found = 'found a filter on ' ~ relation.event_time_filter.field_name
      ~ ' (--sample), which would leave out changes for good. Run without it' %}
  {% elif shape not in ('changes', 'signed', 'wide') %}
    {% set found = "found shape='" ~ shape ~ "'. Choose changes, signed or wide" %}
  {% endif %}
  {% if found %}
    {% do exceptions.raise_compiler_error(
      'changes() expects a table that an incremental model reads; ' ~ found ~ '.'
    ) %}
  {% endif %}
{% endmacro %}


{#- A unit test gives the rows that were inserted. -#}
{% macro vcs_given_changes(relation, shape) %}
  {% set columns = {
    'changes': "'insert' as _change_type, *",
    'signed': '1L as diff_count, *',
  } %}
  {% if shape not in columns %}
    {% do exceptions.raise_compiler_error(
      "A unit test can give rows to changes() in the shapes changes and signed, not in " ~ shape
      ~ "."
    ) %}
  {% endif %}
  {% do return('(select ' ~ columns[shape] ~ ' from ' ~ relation ~ ')') %}
{% endmacro %}
