{#- Approve what a branch shows, so that it can be promoted to a target that requires an approval. -#}
{% macro vcs_approve(branch, at=none, note=none, withdraw=false) %}
  {{ return(adapter.dispatch('vcs_approve', 'dbt')(branch, at, note, withdraw, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_approve(branch, at, note, withdraw) %}
  {% do vcs_verb('approve', {
    'branch': branch, 'at': at, 'note': note, 'withdraw': withdraw
  }, kwargs) %}
{% endmacro %}
