{#- dbt-spark's, unless the profile ignores it: versioned tables are in the repository. -#}
{% macro vcs__location_clause() -%}
  {%- if config.get('location_root') and not vcs_ignores_storage() -%}
    {{ spark__location_clause() }}
  {%- endif -%}
{%- endmacro %}
