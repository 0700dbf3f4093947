{#- List which open branches will conflict with the default branch and with each other, and change nothing. -#}
{% macro vcs_forecast(branch=none, into=none, all=false) %}
  {{ return(adapter.dispatch('vcs_forecast', 'dbt')(branch, into, all, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_forecast(branch, into, all) %}
  {% do vcs_verb('forecast', {'branch': branch, 'into': into, 'all': all}, kwargs) %}
{% endmacro %}
