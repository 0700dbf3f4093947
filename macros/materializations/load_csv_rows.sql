{% macro vcs__load_csv_rows(model, agate_table) -%}
  {{ return(adapter.load_seed(this, agate_table)) }}
{%- endmacro %}
