{#- Remembered results: action is list, stats, why (of a node) or drop (those of a node, the one
    with a key, or all). -#}
{% macro vcs_reuse(action='list', node=none, key=none, all=false, days=none) %}
  {{ return(adapter.dispatch('vcs_reuse', 'dbt')(action, node, key, all, days, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_reuse(action, node, key, all, days) %}
  {% do vcs_verb('reuse', {'action': action, 'node': node, 'key': key, 'all': all, 'days': days}, kwargs) %}
{% endmacro %}
