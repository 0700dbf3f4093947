{#- Show what is damaged in the repository, with data also inside data files, or repair it: from a
    copy, by moving a branch or a tag back to its last whole state, or by dropping a relation from a
    branch. -#}
{% macro vcs_repair(from_copy=none, to_last_whole=none, drop_relation=none, branch=none, data=false, dry_run=false) %}
  {{ return(adapter.dispatch('vcs_repair', 'dbt')(
    from_copy, to_last_whole, drop_relation, branch, data, dry_run, **kwargs
  )) }}
{% endmacro %}

{% macro default__vcs_repair(from_copy, to_last_whole, drop_relation, branch, data, dry_run) %}
  {% do vcs_verb('repair', {
    'from_copy': from_copy, 'to_last_whole': to_last_whole, 'drop_relation': drop_relation,
    'branch': branch, 'data': data, 'dry_run': dry_run
  }, kwargs) %}
{% endmacro %}
