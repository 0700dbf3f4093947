{#- Show what is damaged in the repository, with data also inside data files, or repair it: from a
    copy, or by moving a branch or a tag back to its last whole state. -#}
{% macro vcs_repair(from_copy=none, to_last_whole=none, data=false, dry_run=false) %}
  {{ return(adapter.dispatch('vcs_repair', 'dbt')(
    from_copy, to_last_whole, data, dry_run, **kwargs
  )) }}
{% endmacro %}

{% macro default__vcs_repair(from_copy, to_last_whole, data, dry_run) %}
  {% do vcs_verb('repair', {
    'from_copy': from_copy, 'to_last_whole': to_last_whole, 'data': data, 'dry_run': dry_run
  }, kwargs) %}
{% endmacro %}
