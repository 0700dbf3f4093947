{#- A version of a table to select from: a ref, a source or a name, at a named snapshot or revision.
    -#}
{% macro at(relation, revision) %}
  {% if dbt_vcs_diff.check_adapter('at') %}
  {{ return(default__at(relation, revision)) }}
  {% endif %}
{% endmacro %}
