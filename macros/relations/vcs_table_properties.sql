{#- The table properties of a model: the config tblproperties, plus properties from other configs.
    -#}
{% macro vcs_table_properties() -%}
  {%- set properties = {} -%}
  {%- do properties.update(config.get('tblproperties') or {}) -%}
  {%- do properties.update(vcs_key_properties()) -%}
  {%- do properties.update(vcs_check_properties()) -%}
  {%- for name, values in vcs_configs_kept().items() -%}
    {%- set value = config.get(name) -%}
    {%- if value is not none and value | lower not in values -%}
      {%- do exceptions.raise_compiler_error(
        name ~ " must be one of " ~ values | join(", ") ~ "; found: " ~ value
      ) -%}
    {%- elif value is not none -%}
      {%- do properties.update({'vcs.' ~ name: value | lower}) -%}
    {%- endif -%}
  {%- endfor -%}
  {{ return(properties) }}
{%- endmacro %}


{#- Configs that are stored as table properties, and their allowed values. -#}
{% macro vcs_configs_kept() -%}
  {{ return({
    'on_conflict': ['fail', 'skip', 'accept', 'cell', 'cell_skip', 'cell_accept'],
    'write_mode': ['auto', 'merge_on_read', 'copy_on_write'],
    'rebuild': ['full', 'delta'],
    'auto_optimize': ['true', 'false'],
  }) }}
{%- endmacro %}


{#- Updates the properties of an existing table from its model's current configs. -#}
{% macro vcs_sync_properties(relation) -%}
  {%- set wanted = vcs_table_properties() -%}
  {%- set kept = {} -%}
  {%- for row in fetch_tbl_properties(relation).rows -%}
    {%- do kept.update({row['key']: row['value']}) -%}
  {%- endfor -%}
  {%- set given, gone = [], [] -%}
  {%- for key, value in wanted.items() -%}
    {%- set text = vcs_property_text(value) -%}
    {%- if kept.get(key) != text -%}
      {%- do given.append(vcs_text_literal(key) ~ " = " ~ vcs_text_literal(text)) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set ours = ['primary_key', 'vcs.unique_key', 'vcs.enforce_primary_key'] -%}
  {%- for name in vcs_configs_kept() -%}
    {%- do ours.append('vcs.' ~ name) -%}
  {%- endfor -%}
  {%- for key in kept if key.startswith('vcs.check.') and config.get('contract').enforced -%}
    {%- do ours.append(key) -%}
  {%- endfor -%}
  {%- for key in ours if key in kept and key not in wanted -%}
    {%- do gone.append(vcs_text_literal(key)) -%}
  {%- endfor -%}
  {%- if gone -%}
    {%- do run_query("alter table " ~ relation ~ " unset tblproperties (" ~ gone | join(", ") ~ ")") -%}
  {%- endif -%}
  {%- if given -%}
    {%- do run_query("alter table " ~ relation ~ " set tblproperties (" ~ given | join(", ") ~ ")") -%}
  {%- endif -%}
{%- endmacro %}


{% macro vcs_property_text(value) -%}
  {{ return((value | lower) if value is boolean else (value | string)) }}
{%- endmacro %}
