{#- Show what a version (schema.table or schema.table@revision) was built from, or what was built
    from it. -#}
{% macro vcs_lineage(relation, forward=false, depth=none) %}
  {{ return(adapter.dispatch('vcs_lineage', 'dbt')(relation, forward, depth, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_lineage(relation, forward, depth) %}
  {% do vcs_verb('lineage', {
    'relation': relation | string, 'forward': forward, 'depth': depth
  }, kwargs) %}
{% endmacro %}
