{#- Apply the changes of single commits (one, a list, or ranges a..b) to the target's branch; for a
    merge, relative to parent mainline. -#}
{% macro vcs_cherry_pick(commits, message=none, mainline=1, on_conflict=none, dry_run=false) %}
  {{ return(adapter.dispatch('vcs_cherry_pick', 'dbt')(commits, message, mainline, on_conflict, dry_run, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_cherry_pick(commits, message, mainline, on_conflict, dry_run) %}
  {% do vcs_verb('cherry-pick', {
    'commits': commits, 'message': message, 'mainline': mainline, 'on_conflict': on_conflict,
    'dry_run': dry_run
  }, kwargs) %}
{% endmacro %}
