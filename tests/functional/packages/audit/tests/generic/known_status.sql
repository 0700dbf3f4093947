{% test known_status(model, column_name) %}
select {{ column_name }}
from {{ model }}
where {{ column_name }} not in (select status from {{ ref('severities') }})
{% endtest %}
