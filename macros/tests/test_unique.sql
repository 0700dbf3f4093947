{#- With `vcs_scope: diff`, only the values of changed rows are searched for, in the whole table.
    -#}
{% macro vcs__test_unique(model, column_name) %}
  {% if vcs_scope() == 'diff' and model.subquery %}

select {{ column_name }} as unique_field, count(*) as n_records
from {{ default__get_where_subquery(model.replace(subquery=none)) }}
where {{ column_name }} in (select {{ column_name }} from {{ model }})
group by {{ column_name }}
having count(*) > 1

  {% else %}
    {{ default__test_unique(model, column_name) }}
  {% endif %}
{% endmacro %}
