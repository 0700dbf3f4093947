{#- dbt-spark's macro ignores order. Text is sorted in hexadecimal form, which contains no spaces,
    so it can be split at spaces. -#}
{% macro vcs__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- if not order_by_clause -%}
    {{ return(spark__listagg(measure, delimiter_text, order_by_clause, limit_num)) }}
  {%- endif -%}
  {%- set is_distinct = (measure | trim | lower).startswith("distinct ") -%}
  {%- set text = (measure | trim)[9:] if is_distinct else measure -%}
  {%- set digits -%}
    split(listagg(hex(cast({{ text }} as string)), ' ') within group ({{ order_by_clause }}), ' ')
  {%- endset -%}
  {%- set kept = "array_distinct(" ~ digits ~ ")" if is_distinct else digits -%}
  {%- set limited = "slice(" ~ kept ~ ", 1, " ~ limit_num ~ ")" if limit_num else kept -%}
  array_join(transform({{ limited }}, text -> decode(unhex(text), 'UTF-8')), {{ delimiter_text }})
{%- endmacro %}
