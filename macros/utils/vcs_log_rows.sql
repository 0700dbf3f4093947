{#- Log the rows of a result, one per line: column=value, ... -#}
{% macro vcs_log_rows(table) %}
  {% for row in table.rows %}
    {% set cells = [] %}
    {% for name in table.column_names %}
      {% do cells.append(name ~ '=' ~ row[name]) %}
    {% endfor %}
    {% do log(cells | join(', '), info=true) %}
  {% endfor %}
{% endmacro %}
