{#- Overrides dbt-spark's macro, which is not dispatched: strategies are macros, as in dbt. -#}
{% macro dbt_spark_get_incremental_sql(strategy, source, target, existing, unique_key, incremental_predicates) %}
  {%- do vcs_sync_properties(target) -%}
  {%- set predicates = [incremental_predicates] if incremental_predicates is string else incremental_predicates -%}
  {%- set get_sql = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {{ return(get_sql({
    'target_relation': target,
    'temp_relation': source,
    'unique_key': unique_key,
    'dest_columns': vcs_columns_to_write(source, target),
    'incremental_predicates': predicates,
  })) }}
{% endmacro %}


{#- Rows with an existing key replace the old row; without a key, all rows are appended. -#}
{% macro vcs__get_incremental_default_sql(arg_dict) %}
  {%- if arg_dict['unique_key'] -%}
    {{ return(get_incremental_merge_sql(arg_dict)) }}
  {%- endif -%}
  {{ return(get_incremental_append_sql(arg_dict)) }}
{% endmacro %}


{% macro vcs__get_incremental_append_sql(arg_dict) %}
  {{ return(get_insert_into_sql(arg_dict['temp_relation'], arg_dict['target_relation'])) }}
{% endmacro %}


{#- Replaces whole partitions, or the whole table: the partitions with new rows, or those listed in
    the config partitions, whether there are rows for them or not. -#}
{% macro vcs__get_incremental_insert_overwrite_sql(arg_dict) %}
  {%- set source, target = arg_dict['temp_relation'], arg_dict['target_relation'] -%}
  {%- if config.get('partitions') is none -%}
    {{ return(get_insert_overwrite_sql(source, target, target)) }}
  {%- endif -%}
  {{ return(vcs_get_replace_where_sql(source, target, vcs_partitions_condition())) }}
{% endmacro %}


{#- A batch replaces the rows of its time range. Rows without their time replace the partitions that
    they are in, as in dbt-spark, which does so for all: a batch of less than a partition, such as an
    hour of a day, leaves nothing else in it. -#}
{% macro vcs__get_incremental_microbatch_sql(arg_dict) %}
  {%- set source, target = arg_dict['temp_relation'], arg_dict['target_relation'] -%}
  {%- set names = arg_dict['dest_columns'] | map(attribute='name') | map('lower') -%}
  {%- if config.get('partition_by') and config.get('event_time') | lower not in names -%}
    {{ return(get_insert_overwrite_sql(source, target, target)) }}
  {%- endif -%}
  {{ return(vcs_get_replace_where_sql(source, target, vcs_batch_condition())) }}
{% endmacro %}


{% macro vcs_get_replace_where_sql(source, target, condition) -%}
  insert into table {{ target }} replace where {{ condition }}
  select {{ vcs_columns_to_insert(source, target) }} from {{ source }}
{%- endmacro %}


{% macro vcs_partitions_condition() -%}
  {%- set columns, values = config.get('partition_by'), config.get('partitions') -%}
  {%- set columns = [columns] if columns is string else (columns or []) -%}
  {%- if columns | length != 1 or values is string or values is mapping or not values -%}
    {%- do exceptions.raise_compiler_error(
      "partitions must list values, as SQL, of the one column that partition_by names; found "
      ~ "partitions: " ~ values ~ ", partition_by: " ~ columns
    ) -%}
  {%- endif -%}
  {{ columns[0] }} in ({{ values | join(", ") }})
{%- endmacro %}


{#- The text of dbt's own filter of what a batch reads: Spark converts the bounds to the column's
    type, so any other text could delete rows that no batch reads. -#}
{% macro vcs_batch_condition() -%}
  {%- set time = config.get('event_time') -%}
  {{ time }} >= '{{ model.batch.event_time_start }}' and {{ time }} < '{{ model.batch.event_time_end }}'
{%- endmacro %}
