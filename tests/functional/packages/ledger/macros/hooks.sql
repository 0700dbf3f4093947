{# Every command that runs hooks is noted, whatever it is. #}
{% macro begin() %}
  {% if execute %}
    {% set schema = target.schema ~ '_ledger' %}
    {% set wanted = api.Relation.create(database=target.database, schema=schema, identifier='dbt_invocations') %}
    {% if not adapter.check_schema_exists(wanted.database, schema) %}
      {% do adapter.create_schema(wanted.without_identifier()) %}
    {% endif %}
    {% if load_relation(wanted) is none %}
      {% do run_query(dbt.create_table_as(false, wanted, ledger.empty_table('dbt_invocations'))) %}
    {% endif %}
    {% do ledger.insert_rows(wanted, [[invocation_id, flags.WHICH]]) %}
  {% endif %}
{% endmacro %}


{% macro upload_graph() %}
  {% if execute %}
    {% set models, tests, columns, sources = [], [], [], [] %}
    {% for node in graph.nodes.values() if node.resource_type == 'model' %}
      {% do models.append([node.unique_id, node.name, node.original_file_path, node.config.materialized, node.checksum.checksum]) %}
    {% endfor %}
    {% for node in graph.nodes.values() if node.resource_type == 'test' %}
      {% do tests.append([node.unique_id, node.name, node.config.severity]) %}
    {% endfor %}
    {% for source in graph.sources.values() %}
      {% do sources.append([source.unique_id, source.name, source.relation_name]) %}
    {% endfor %}
    {% for node in (graph.nodes.values() | list) + (graph.sources.values() | list) %}
      {% for column in node.columns.values() %}
        {% do columns.append([node.unique_id ~ '.' ~ column.name, node.unique_id, column.name, column.description]) %}
      {% endfor %}
    {% endfor %}
    {% for name, rows in {'dbt_models': models, 'dbt_tests': tests, 'dbt_columns': columns, 'dbt_sources': sources}.items() %}
      {% set relation = ledger.table_of_package(name) %}
      {% if relation is not none %}
        {% do ledger.replace_rows(relation, rows) %}
      {% endif %}
    {% endfor %}
  {% endif %}
{% endmacro %}


{% macro upload_run(results) %}
  {% if execute and results %}
    {% set relation = ledger.table_of_package('dbt_run_results') %}
    {% set rows = [] %}
    {% for result in results %}
      {% do rows.append([result.node.unique_id, invocation_id, result.status]) %}
    {% endfor %}
    {% if relation is not none %}
      {% do ledger.insert_rows(relation, rows) %}
    {% endif %}
  {% endif %}
{% endmacro %}
