{#- The commit that last changed a row, given by values of its columns: {id: 7}. -#}
{% macro vcs_blame(relation, key, at=none) %}
  {{ return(adapter.dispatch('vcs_blame', 'dbt')(relation, key, at)) }}
{% endmacro %}

{% macro default__vcs_blame(relation, key, at) %}
  {% do vcs_verb('blame', {
    'relation': relation | string, 'key': key, 'at': at
  }) %}
{% endmacro %}
