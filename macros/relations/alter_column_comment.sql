{% macro vcs__alter_column_comment(relation, column_dict) %}
  {%- if not relation.is_view -%}
    {%- for name in column_dict %}
      {%- set column = column_dict[name] -%}
      {%- call statement() -%}
        alter table {{ relation }} alter column {{ adapter.quote(name) }}
          comment {{ vcs_text_literal(column['description']) }}
      {%- endcall -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
