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
  {%- set known = {} -%}
  {%- for column in target_columns -%}
    {%- do known.update({column.name | lower: column}) -%}
  {%- endfor -%}
  {%- set changed = [] -%}
  {%- for column in source_columns if column.name | lower in known -%}
    {%- set old = known[column.name | lower] -%}
    {%- if column.expanded_data_type != old.expanded_data_type -%}
      {%- do changed.append({'column_name': old.name, 'new_type': column.expanded_data_type}) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(changed) }}
{% endmacro %}
