{#- The properties for the primary key: the config primary_key, else the contract's constraint, else
    the unique_key of an incremental model as long as its rows are unique. -#}
{% macro vcs_key_properties() -%}
  {%- set properties = {} -%}
  {%- set key = vcs_columns_of_config('primary_key') or vcs_columns_of_constraint() -%}
  {%- set unique_key = config.get('unique_key') -%}
  {%- if key -%}
    {%- do properties.update({'primary_key': vcs_names_text(key)}) -%}
  {%- elif unique_key and config.get('materialized') == 'incremental' -%}
    {%- set names = unique_key if unique_key is string else vcs_names_text(unique_key) -%}
    {%- do properties.update({'vcs.unique_key': names}) -%}
  {%- endif -%}
  {%- set enforced = config.get('enforce_primary_key') -%}
  {%- if enforced is not none and enforced is not boolean -%}
    {%- do exceptions.raise_compiler_error(
      "enforce_primary_key must be true or false; found: " ~ enforced
    ) -%}
  {%- elif enforced is false -%}
    {%- do properties.update({'vcs.enforce_primary_key': 'false'}) -%}
  {%- endif -%}
  {{ return(properties) }}
{%- endmacro %}


{#- Names as the text of a property, in which a comma begins the next one. -#}
{% macro vcs_names_text(names) -%}
  {%- set found = [] -%}
  {%- for name in names -%}
    {%- do found.append(adapter.quote(name) if ',' in name and not name.startswith('`') else name) -%}
  {%- endfor -%}
  {{ return(found | join(", ")) }}
{%- endmacro %}


{#- The columns that a config names: text separated by commas, or a list. -#}
{% macro vcs_columns_of_config(name) -%}
  {%- set found = config.get(name) -%}
  {%- if found is none -%}
    {{ return([]) }}
  {%- elif found is string -%}
    {{ return(found.split(",") | map("trim") | list) }}
  {%- elif found is sequence and found is not mapping -%}
    {{ return(found | list) }}
  {%- endif -%}
  {%- do exceptions.raise_compiler_error(
    name ~ " must be a column or a list of columns; found: " ~ found
  ) -%}
{%- endmacro %}


{% macro vcs_columns_of_constraint() -%}
  {%- set names = [] -%}
  {%- if config.get('contract').enforced -%}
    {%- for constraint in model['constraints'] if constraint['type'] == 'primary_key' -%}
      {%- do names.extend(constraint['columns']) -%}
    {%- endfor -%}
    {%- if not names -%}
      {%- for column in model['columns'].values() -%}
        {%- if column['constraints'] | selectattr('type', 'equalto', 'primary_key') | list -%}
          {%- do names.append(column['name']) -%}
        {%- endif -%}
      {%- endfor -%}
    {%- endif -%}
  {%- endif -%}
  {{ return(names) }}
{%- endmacro %}
