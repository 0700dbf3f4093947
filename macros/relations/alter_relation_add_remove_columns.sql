{#- dbt-spark's macro refuses to drop columns; here both only change metadata. -#}
{% macro vcs__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {%- if add_columns -%}
    {%- set added = [] -%}
    {%- for column in add_columns -%}
      {%- do added.append(column.quoted ~ " " ~ column.ddl_type) -%}
    {%- endfor -%}
    {%- do run_query("alter table " ~ relation ~ " add columns (" ~ added | join(", ") ~ ")") -%}
  {%- endif -%}
  {%- if remove_columns -%}
    {%- set removed = remove_columns | map(attribute="quoted") | join(", ") -%}
    {%- do run_query("alter table " ~ relation ~ " drop columns (" ~ removed ~ ")") -%}
  {%- endif -%}
{%- endmacro %}

{#- Columns that a snapshot's table lacks. -#}
{% macro vcs__create_columns(relation, columns) -%}
  {%- do vcs__alter_relation_add_remove_columns(relation, columns, []) -%}
{%- endmacro %}
