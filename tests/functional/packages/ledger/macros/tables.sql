{# Columns of the package's tables, in the order of the values that rows give. #}
{% macro columns_of_table(name) %}
  {{ return({
    'dbt_models': ['unique_id', 'name', 'path', 'materialized', 'checksum'],
    'dbt_tests': ['unique_id', 'name', 'severity'],
    'dbt_columns': ['unique_id', 'parent', 'name', 'description'],
    'dbt_sources': ['unique_id', 'name', 'relation'],
    'dbt_run_results': ['unique_id', 'invocation', 'status'],
    'dbt_invocations': ['invocation', 'command'],
  }[name]) }}
{% endmacro %}


{% macro empty_table(name) %}
  select
  {% for column in ledger.columns_of_table(name) %}
    cast(null as {{ dbt.type_string() }}) as {{ column }}{{ ',' if not loop.last }}
  {% endfor %}
  where 1 = 0
{% endmacro %}


{# A table of the package that was built, or none. #}
{% macro table_of_package(name) %}
  {% set found = graph.nodes.values() | selectattr('unique_id', 'equalto', 'model.ledger.' ~ name) | list %}
  {% if found %}
    {{ return(adapter.get_relation(found[0].database, found[0].schema, found[0].alias)) }}
  {% endif %}
  {{ return(none) }}
{% endmacro %}


{# Neither a database nor a schema: the warehouse has a place for what is temporary. #}
{% macro temporary_relation(name) %}
  {% set moment = modules.datetime.datetime.utcnow().strftime('%H%M%S%f') %}
  {{ return(api.Relation.create(identifier=name ~ '__tmp_' ~ moment, type='table')) }}
{% endmacro %}
