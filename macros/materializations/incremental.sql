{#- dbt-spark's. Once the table is built, and in the same commit, it records which changes of its
    inputs it accounts for. -#}
{% materialization incremental, adapter='vcs', supported_languages=['sql', 'python'] -%}
  {%- set built = materialization_incremental_spark() -%}
  {%- set sql = compiled_code if model['language'] == 'sql' else '' -%}
  {%- do adapter.vcs_record_changes(this, sql, not flags.EMPTY) -%}
  {{ return(built) }}
{%- endmaterialization %}
