{#- dbt-spark's macro requires Delta; dbt's own asks the adapter for a zero-copy clone. -#}
{% materialization clone, adapter='vcs' -%}
  {{ return(materialization_clone_default()) }}
{%- endmaterialization %}
