{#- Spark ignores the case of names: `Name` in a query is the column `name` of the table. dbt's own
    macros compare them as they are written; the first of these isn't dispatched. -#}
{% macro diff_columns(source_columns, target_columns) %}
  {%- set known = target_columns | map(attribute='name') | map('lower') | list -%}
  {%- set missing = [] -%}
  {%- for column in source_columns if column.name | lower not in known -%}
    {%- do missing.append(column) -%}
  {%- endfor -%}
  {{ return(missing) }}
{% endmacro %}


{% macro vcs__diff_column_data_types(source_columns, target_columns) %}
  {%- set types = {} -%}
  {%- for column in source_columns -%}
    {%- do types.update({column.name | lower: column.expanded_data_type}) -%}
  {%- endfor -%}
  {%- set changed = [] -%}
  {%- for column in target_columns -%}
    {%- set type = types.get(column.name | lower, column.expanded_data_type) -%}
    {%- if type != column.expanded_data_type -%}
      {%- do changed.append({'column_name': column.name, 'new_type': type}) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(changed) }}
{% endmacro %}
