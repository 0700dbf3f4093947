{#- NOT NULL is enforced from then on; dbt warns about the other constraints of a contract. -#}
{% macro vcs__persist_constraints(relation, model) -%}
  {%- if config.get('contract').enforced -%}
    {%- do adapter.render_raw_columns_constraints(raw_columns=model['columns']) -%}
    {%- do adapter.render_raw_model_constraints(raw_constraints=model['constraints']) -%}
    {%- for name in vcs_columns_not_null(model) -%}
      {%- call statement() -%}
        alter table {{ relation }} alter column {{ adapter.quote(name) }} set not null
      {%- endcall -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro %}


{% macro vcs_columns_not_null(model) -%}
  {%- set names = [] -%}
  {%- for column in model['columns'].values() -%}
    {%- if column['constraints'] | selectattr('type', 'equalto', 'not_null') | list -%}
      {%- do names.append(column['name']) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- for constraint in model['constraints'] -%}
    {%- if constraint['type'] == 'not_null' -%}
      {%- do names.extend(constraint['columns']) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(names | unique | list) }}
{%- endmacro %}
