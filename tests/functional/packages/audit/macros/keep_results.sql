{# What dbt says of a run at its end goes into a table, a row a node. #}
{% macro keep_results(results) %}
  {% if execute and results %}
    {% set messages = var('audit_messages', false) %}
    {% do run_query(
      "insert into " ~ audit.audit_relation('invocations') ~ " values ('" ~ invocation_id ~ "', '"
      ~ flags.WHICH ~ "', timestamp'" ~ run_started_at.strftime('%Y-%m-%d %H:%M:%S') ~ "')"
    ) %}
    {% set query %}
      insert into {{ audit.audit_relation('results') }}
        (invocation, node, status, seconds, response{{ ', message' if messages }})
      {% for result in results %}
        select '{{ invocation_id }}', '{{ result.node.unique_id }}', '{{ result.status }}',
          cast({{ result.execution_time }} as double), '{{ audit.text(tojson(result.adapter_response)) }}'
          {%- if messages %}, '{{ audit.text(result.message) }}'{% endif %}
        {{ 'union all' if not loop.last }}
      {% endfor %}
    {% endset %}
    {% do run_query(query) %}
  {% endif %}
{% endmacro %}

{% macro text(value) %}{{ return((value or '') | replace('\\', '\\\\') | replace("'", "\\'")) }}{% endmacro %}
