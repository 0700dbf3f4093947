{#- Choose ours, theirs, base or delete for conflicts of a relation, of a key of it, or of all. -#}
{% macro vcs_resolve(choice, relation=none, key=none, target=none) %}
  {{ return(adapter.dispatch('vcs_resolve', 'dbt')(choice, relation, key, target)) }}
{% endmacro %}

{% macro default__vcs_resolve(choice, relation, key, target) %}
  {% do vcs_verb('resolve', {
    'choice': choice, 'relation': relation, 'key': key, 'target': target
  }) %}
{% endmacro %}
