{#- Undo the changes of a commit on the target's branch; for a merge, relative to parent mainline.
    -#}
{% macro vcs_revert(revision, message=none, mainline=1) %}
  {{ return(adapter.dispatch('vcs_revert', 'dbt')(revision, message, mainline, **kwargs)) }}
{% endmacro %}

{% macro default__vcs_revert(revision, message, mainline) %}
  {% do vcs_verb('revert', {
    'revision': revision, 'message': message, 'mainline': mainline
  }, kwargs) %}
{% endmacro %}
