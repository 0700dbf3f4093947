{#- Combine small files of a table (schema.table), of a schema or of all tables, and rewrite files
    without their deleted rows. -#}
{% macro optimize(relation=none, schema=none, all=false, target_size=none, cluster_by=none, branch=none) %}
  {{ return(adapter.dispatch('optimize', 'dbt')(relation, schema, all, target_size, cluster_by, branch, **kwargs)) }}
{% endmacro %}

{% macro default__optimize(relation, schema, all, target_size, cluster_by, branch) %}
  {% do vcs_verb('optimize', {
    'relation': relation, 'schema': schema, 'all': all, 'target_size': target_size,
    'cluster_by': cluster_by, 'branch': branch
  }, kwargs) %}
{% endmacro %}
