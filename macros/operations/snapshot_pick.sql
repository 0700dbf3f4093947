{#- Take over the changes of chosen rows alone: those that fulfil a condition, or have one of some
    keys, each a list of values as SQL, or given by a query. between names two snapshots of the
    source, [a, b]: what changed from the one to the other. The rest is as for snapshot_merge. -#}
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
