{#-
  With `vcs_scope: diff`, checks changed rows against all parents, and all rows against removed
  parents. If the parents' changes are not known, as with a view, all rows are checked against all.
-#}
{% macro vcs__test_relationships(model, column_name, to, field) %}
  {% if vcs_scope() == 'diff' and model.subquery %}
    {% set whole = default__get_where_subquery(model.replace(subquery=none)) %}
    {% if to is mapping and adapter.vcs_is_table(to) %}

with gone as (
    select distinct {{ field }} as to_field
    from ({{ vcs_changed_rows(to, 'removed') }}) as changed
    where {{ field }} is not null
),

child as (
    select changed.from_field
    from (select {{ column_name }} as from_field from {{ model }}) as changed
    left anti join gone on changed.from_field = gone.to_field
    where changed.from_field is not null
    union all
    select {{ column_name }} as from_field
    from {{ whole }}
    where {{ column_name }} in (select to_field from gone)
)

select child.from_field
from child
left anti join (select {{ field }} as to_field from {{ to }}) as parent
    on child.from_field = parent.to_field

    {% else %}
      {{ default__test_relationships(whole, column_name, to, field) }}
    {% endif %}
  {% else %}
    {{ default__test_relationships(model, column_name, to, field) }}
  {% endif %}
{% endmacro %}
