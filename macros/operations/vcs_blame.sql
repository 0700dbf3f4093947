{#- Show the commit that last changed a row, which is given by column values: {id: 7}. -#}
{% macro vcs_blame(relation, key, at=none) %}
  {{ return(adapter.dispatch('vcs_blame', 'dbt')(relation, key, at, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_blame(relation, key, at) %}
  {% do vcs_verb('blame', {
    'relation': relation | string, 'key': key, 'at': at
  }, kwargs) %}
{% endmacro %}
