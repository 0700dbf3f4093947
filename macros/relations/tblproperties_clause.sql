{#- As dbt-spark's, for keys and values of any characters. -#}
{% macro vcs__tblproperties_clause() -%}
  {%- set properties = config.get('tblproperties') -%}
  {%- if properties -%}
    {%- set settings = [] -%}
    {%- for key, value in properties.items() -%}
      {%- set text = (value | lower) if value is boolean else (value | string) -%}
      {%- do settings.append(vcs_text_literal(key) ~ " = " ~ vcs_text_literal(text)) -%}
    {%- endfor -%}
    tblproperties ({{ settings | join(", ") }})
  {%- endif -%}
{%- endmacro %}
