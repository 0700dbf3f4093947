{#- The statements of the config sql_header, which dbt-spark ignores here: they run first. -#}
{% macro vcs_sql_header() -%}
  {%- set header = (config.get('sql_header') or '') | trim -%}
  {%- if header and not header.endswith(';') -%}
    {%- do exceptions.raise_compiler_error(
      "sql_header must end with a semicolon, since the model's own statement follows; found: " ~ header
    ) -%}
  {%- endif -%}
  {{ header }}
{%- endmacro %}
