{#- dbt-spark's refuses to drop columns; here both are changes of metadata alone. -#}
{% macro vcs__alter_relation_add_remove_columns(relation, add_columns, remove_columns) -%}
  {%- if add_columns -%}
    {%- set added = [] -%}
    {%- for column in add_columns -%}
      {%- do added.append(column.quoted ~ " " ~ column.data_type) -%}
    {%- endfor -%}
    {%- do run_query("alter table " ~ relation ~ " add columns (" ~ added | join(", ") ~ ")") -%}
  {%- endif -%}
  {%- if remove_columns -%}
    {#- What a check constraint names can't be dropped; so those that are no more go first. A
        model may alter another's relation, whose configs are not known here. -#}
    {%- if execute and (relation.schema | lower, relation.identifier | lower) == (this.schema | lower, this.identifier | lower) -%}
      {%- do vcs_sync_properties(relation) -%}
    {%- endif -%}
    {%- set removed = remove_columns | map(attribute="quoted") | join(", ") -%}
    {%- do run_query("alter table " ~ relation ~ " drop columns (" ~ removed ~ ")") -%}
  {%- endif -%}
{%- endmacro %}
