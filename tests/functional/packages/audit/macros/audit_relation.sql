{% macro audit_relation(name) %}
  {{ return(api.Relation.create(
    database=target.database, schema=target.schema ~ '_audit', identifier=name, type='table'
  )) }}
{% endmacro %}
