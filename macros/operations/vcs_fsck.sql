{#- Check the repository for missing or damaged files. -#}
{% macro vcs_fsck() %}
  {{ return(adapter.dispatch('vcs_fsck', 'dbt')(**kwargs)) }}
{% endmacro %}

{% macro default__vcs_fsck() %}
  {% do vcs_verb('fsck', {}, kwargs) %}
{% endmacro %}
