{# Everything in the schema, as the warehouse lists it. #}
{{ config(materialized='table') }}
{% for parent in var('audit_after', []) %}
-- depends_on: {{ ref(parent) }}
{% endfor %}
{% set schema = api.Relation.create(database=target.database, schema=target.schema) %}
{% set listed = dbt.list_relations_without_caching(schema) if execute else none %}
{% for name in (listed.columns['tableName'].values() if listed else []) | sort %}
  {% set relation = adapter.get_relation(target.database, target.schema, name) %}
  {% set columns = adapter.get_columns_in_relation(relation) %}
  select
    '{{ relation.identifier }}' as identifier,
    '{{ relation.type }}' as kind,
    '{{ columns | map(attribute="name") | join(",") }}' as columns,
    '{{ columns | map(attribute="data_type") | join(",") }}' as types,
    {{ load_relation(relation) is not none }} as is_loaded
  {{ 'union all' if not loop.last }}
{% else %}
  select '' as identifier, '' as kind, '' as columns, '' as types, false as is_loaded where false
{% endfor %}
