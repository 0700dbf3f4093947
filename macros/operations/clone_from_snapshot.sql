{#- Create a table from a named snapshot or any revision of another table; no data is copied. -#}
{% macro clone_from_snapshot(source, target, at=none, replace=false) %}
  {{ return(adapter.dispatch('clone_from_snapshot', 'dbt')(source, target, at, replace, **kwargs)) }}
{% endmacro %}

{% macro default__clone_from_snapshot(source, target, at, replace) %}
  {% do vcs_verb('clone', {
    'source': source | string, 'target': target | string, 'at': at, 'replace': replace
  }, kwargs) %}
{% endmacro %}
