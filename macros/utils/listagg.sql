{#- dbt-spark's knows no order. Texts are put in order as hexadecimal digits, which hold no space to
    part them at. -#}
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
