{#- Merge the changes of selected rows only: those that match a condition, or have one of the given
    keys, each a list of SQL values, or returned by a query. between names two snapshots of the
    source, [a, b], to pick what changed from a to b. The rest is as in snapshot_merge. -#}
{% macro snapshot_pick(target, source, where=none, keys=none, based_on=none, on_conflict=none, dry_run=false, between=none) %}
  {{ return(adapter.dispatch('snapshot_pick', 'dbt')(target, source, where, keys, based_on, on_conflict, dry_run, between)) }}
{% endmacro %}

{% macro default__snapshot_pick(target, source, where, keys, based_on, on_conflict, dry_run, between) %}
  {% set rows = [] %}
  {% for key in ([keys] if keys is string else keys or []) %}
    {% do rows.append('(' ~ (key if key is sequence and key is not string else [key]) | join(', ') ~ ')') %}
  {% endfor %}
  {% set statement -%}
    snapshot pick table {{ target }} from {{ vcs_version(source) }}
    {%- if between %} between snapshot {{ vcs_text_literal(between[0]) }} and {{ vcs_text_literal(between[1]) }}{% endif %}
    {%- if based_on %} based on {{ vcs_version(based_on) }}{% endif %}
    {%- if where %} where {{ where }}{% endif %}
    {%- if rows %} keys {{ rows | join(', ') }}{% endif %}
    {%- if on_conflict %} when conflict {{ on_conflict }}{% endif %}
    {%- if dry_run %} dry run{% endif %}
  {%- endset %}
  {% do vcs_log_rows(run_query(statement)) %}
{% endmacro %}
