{#- Let other engines read the tables of the target's branch, or of another one, without a server. -#}
{% macro vcs_export(branch=none, all=false, format_version=none) %}
  {{ return(adapter.dispatch('vcs_export', 'dbt')(branch, all, format_version, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_export(branch, all, format_version) %}
  {% do vcs_verb('export', {
    'branch': branch, 'all': all, 'format_version': format_version
  }, kwargs) %}
{% endmacro %}
