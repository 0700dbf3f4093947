{#- dbt-spark's macro inserts the relation's text, which is a query under --empty or a sample. -#}
{% macro vcs__alter_column_type(relation, column_name, new_column_type) -%}
  {%- do run_query(
    "alter table " ~ relation.render() ~ " alter column " ~ adapter.quote(column_name)
    ~ " type " ~ new_column_type
  ) -%}
{%- endmacro %}
