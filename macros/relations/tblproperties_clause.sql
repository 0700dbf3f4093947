{#- Like dbt-spark's, for keys and values with any characters, plus properties from other configs.
    -#}
{% macro vcs__tblproperties_clause() -%}
  {%- set properties = vcs_table_properties() -%}
  {%- if properties -%}
    {%- set settings = [] -%}
    {%- for key, value in properties.items() -%}
      {%- set text = vcs_text_literal(vcs_property_text(value)) -%}
      {%- do settings.append(vcs_text_literal(key) ~ " = " ~ text) -%}
    {%- endfor -%}
    tblproperties ({{ settings | join(", ") }})
  {%- endif -%}
{%- endmacro %}
