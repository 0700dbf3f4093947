{#- Let other engines read the tables of the target's branch, or of another one, without a server. -#}
{% macro vcs_export(branch=none, all=false) %}
  {{ return(adapter.dispatch('vcs_export', 'dbt')(branch, all, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_export(branch, all) %}
  {% do vcs_verb('export', {
    'branch': branch, 'all': all
  }, kwargs) %}
{% endmacro %}
