{#- A table from a version of another one: a named snapshot of it, or any revision; nothing is copied. -#}
{% macro clone_from_snapshot(source, target, at=none, replace=false) %}
  {{ return(adapter.dispatch('clone_from_snapshot', 'dbt')(source, target, at, replace)) }}
{% endmacro %}

{% macro default__clone_from_snapshot(source, target, at, replace) %}
  {% do vcs_verb('clone', {
    'source': source | string, 'target': target | string, 'at': at, 'replace': replace
  }) %}
{% endmacro %}
