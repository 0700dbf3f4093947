{#- dbt-spark's buckets, and the config cluster_by: columns that rows are sorted by when written.
    -#}
{% macro vcs__clustered_cols(label, required=false) -%}
  {%- if not vcs_ignores_storage() -%}
    {{ spark__clustered_cols(label, required) }}
  {%- endif -%}
  {%- set columns = [] -%}
  {%- for column in vcs_columns_of_config('cluster_by') -%}
    {%- do columns.append(adapter.quote(column | replace("`", ""))) -%}
  {%- endfor -%}
  {%- if columns %}
    cluster by ({{ columns | join(", ") }})
  {%- endif -%}
{%- endmacro %}
