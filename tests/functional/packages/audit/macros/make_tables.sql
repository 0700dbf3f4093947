{# Tables are made in a hook, and widened where an older version of the package made them. #}
{% macro make_tables() %}
  {% if execute and flags.WHICH in ['run', 'build', 'seed', 'test', 'snapshot'] %}
    {% do adapter.create_schema(audit.audit_relation('invocations')) %}
    {% for name, columns in audit.columns_of_tables().items() %}
      {% set wanted = audit.audit_relation(name) %}
      {% set found = adapter.get_relation(wanted.database, wanted.schema, wanted.identifier) %}
      {% if found is none %}
        {% do run_query(audit.create_table_sql(wanted, columns)) %}
      {% else %}
        {% set known = adapter.get_columns_in_relation(found) | map(attribute='name') | list %}
        {% for column in columns if column not in known %}
          {% do run_query('alter table ' ~ found ~ ' add columns (' ~ column ~ ' ' ~ columns[column] ~ ')') %}
        {% endfor %}
      {% endif %}
    {% endfor %}
  {% endif %}
{% endmacro %}

{% macro columns_of_tables() %}
  {% set results = {'invocation': 'string', 'node': 'string', 'status': 'string', 'seconds': 'double', 'response': 'string'} %}
  {% if var('audit_messages', false) %}{% do results.update({'message': 'string'}) %}{% endif %}
  {{ return({
    'invocations': {'invocation': 'string', 'command': 'string', 'at': 'timestamp'},
    'results': results,
    'nodes': {'node': 'string', 'kind': 'string', 'materialized': 'string', 'parents': 'int', 'owner': 'string'},
  }) }}
{% endmacro %}

{% macro create_table_sql(relation, columns) %}
  {{ return(adapter.dispatch('create_table_sql', 'audit')(relation, columns)) }}
{% endmacro %}

{% macro default__create_table_sql(relation, columns) %}
  create table {{ relation }} (
    {% for name, type in columns.items() %}{{ name }} {{ type }}{{ ', ' if not loop.last }}{% endfor %}
  )
{% endmacro %}

{% macro spark__create_table_sql(relation, columns) %}
  create table if not exists {{ relation }} (
    {% for name, type in columns.items() %}{{ name }} {{ type }}{{ ', ' if not loop.last }}{% endfor %}
  ) using parquet tblproperties ('made_by' = 'audit')
{% endmacro %}
