{#- dbt-spark's; an empty format names none, and one is left out where the profile says so. -#}
{% macro vcs__file_format_clause() -%}
  {%- if config.get('file_format') and not vcs_ignores_storage() -%}
    {{ spark__file_format_clause() }}
  {%- endif -%}
{%- endmacro %}


{#- Whether the profile lets configs be left out that versioned tables don't have. -#}
{% macro vcs_ignores_storage() -%}
  {{ return(target.storage_configs == 'ignore') }}
{%- endmacro %}
