{#- dbt-spark's; an empty format is skipped, and any other is ignored if the profile says so. -#}
{% macro vcs__file_format_clause() -%}
  {%- if config.get('file_format') and not vcs_ignores_storage() -%}
    {{ spark__file_format_clause() }}
  {%- endif -%}
{%- endmacro %}


{#- Whether the profile allows ignoring configs that versioned tables don't support. -#}
{% macro vcs_ignores_storage() -%}
  {{ return(target.storage_configs == 'ignore') }}
{%- endmacro %}
