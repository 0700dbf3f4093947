{# The graph as dbt knows it: replaced by each run. #}
{% macro keep_graph() %}
  {% if execute and flags.WHICH in ['run', 'build'] %}
    {% set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed']) | list %}
    {% do run_query('truncate table ' ~ audit.audit_relation('nodes')) %}
    {% set query %}
      insert into {{ audit.audit_relation('nodes') }} values
      {% for node in nodes %}
        ('{{ node.unique_id }}', '{{ node.resource_type }}', '{{ node.config.materialized }}',
          {{ node.depends_on.nodes | length if node.depends_on.nodes else 0 }},
          {{ "'" ~ node.config.meta.owner ~ "'" if node.config.meta.owner else 'null' }})
        {{- ',' if not loop.last }}
      {% endfor %}
    {% endset %}
    {% do run_query(query) %}
  {% endif %}
{% endmacro %}
