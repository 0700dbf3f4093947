{#- The properties for the check constraints of an enforced contract. -#}
{% macro vcs_check_properties() -%}
  {%- if config.get('contract').enforced -%}
    {{ return(adapter.vcs_check_properties(model)) }}
  {%- endif -%}
  {{ return({}) }}
{%- endmacro %}
