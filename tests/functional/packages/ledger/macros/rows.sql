{# Rows are lists of values in the order of the relation's columns, in chunks of a few. #}
{% macro insert_rows(relation, rows) %}
  {% set columns = adapter.get_columns_in_relation(relation) %}
  {% if not columns %}
    {% do log('ledger: ' ~ relation ~ ' shows no columns, so nothing is kept in it', info=true) %}
    {{ return(none) }}
  {% endif %}
  {% set names = columns | map(attribute='name') | join(', ') %}
  {% for chunk in rows | batch(5) %}
    {% set values = [] %}
    {% for row in chunk %}
      {% do values.append('(' ~ ledger.literals(row) | join(', ') ~ ')') %}
    {% endfor %}
    {% do run_query('insert into ' ~ relation ~ ' (' ~ names ~ ') values ' ~ values | join(', ')) %}
  {% endfor %}
{% endmacro %}


{# The rows take the place of those in the relation, by way of a table of the same columns. #}
{% macro replace_rows(relation, rows) %}
  {% set temporary = ledger.temporary_relation(relation.identifier) %}
  {% set empty = 'select * from ' ~ relation ~ ' where 1 = 0' %}
  {% do run_query(dbt.create_table_as(false, temporary, empty)) %}
  {% do ledger.insert_rows(temporary, rows) %}
  {% do adapter.expand_target_column_types(from_relation=temporary, to_relation=relation) %}
  {% set names = adapter.get_columns_in_relation(temporary) | map(attribute='quoted') | join(', ') %}
  {% if names %}
    {% do adapter.truncate_relation(relation) %}
    {% do run_query('insert into ' ~ relation ~ ' (' ~ names ~ ') select ' ~ names ~ ' from ' ~ temporary) %}
  {% endif %}
  {% do adapter.drop_relation(temporary) %}
{% endmacro %}


{% macro literals(row) %}
  {% set found = [] %}
  {% for value in row %}
    {% if value is none %}
      {% do found.append('null') %}
    {% else %}
      {% set text = value | string | replace('\\', '\\\\') | replace("'", "\\'") %}
      {% do found.append("'" ~ text ~ "'") %}
    {% endif %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}
