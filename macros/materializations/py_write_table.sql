{#- Like dbt-spark's, but the frame of a Python model is stored by the same statement as a query.
    -#}
{% macro vcs__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language == 'python' -%}
    {{ vcs_write_python(temporary, relation, compiled_code) }}
  {%- else -%}
    {%- do adapter.vcs_check_query(compiled_code) -%}
    {%- if vcs_applies_changes() -%}
      {%- set compiled_code = vcs_rows_of_changes(relation, compiled_code) -%}
    {%- endif -%}
    {{ vcs_sql_header() }}
    {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
  {%- endif -%}
{%- endmacro %}


{#- Overrides dbt-spark's macro, which is not dispatched and saves the frame itself. -#}
{% macro py_write_table(compiled_code, target_relation) -%}
  {{ vcs_write_python(false, target_relation, compiled_code) }}
{%- endmacro %}


{#- A model's code, followed by the statement that stores what it returns as a table. -#}
{% macro vcs_write_python(temporary, relation, compiled_code) -%}
{%- set query = "select * from __vcs_frame" -%}
{%- set statement = "create or replace table " ~ relation ~ " as " ~ query
    if temporary else spark__create_table_as(false, relation, query, 'sql') -%}
{{ "\n# --- the model --- #\n" }}{{ compiled_code }}

# --- how dbt-vcs writes what model() returns --- #
import json as __vcs_json
__vcs_statement = __vcs_json.loads({{ statement | tojson | tojson }})
{%- endmacro %}
