{#- Overrides dbt-spark's macro, which is not dispatched and doesn't handle backslashes. -#}
{% macro get_column_comment_sql(column_name, column_dict) -%}
  {{ adapter.quote(column_name) }}
  {%- if column_name in column_dict and column_dict[column_name]['description'] %}
    comment {{ vcs_text_literal(column_dict[column_name]['description']) }}
  {%- endif -%}
{%- endmacro %}
