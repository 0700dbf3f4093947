{% test is_between(model, column_name, low, high) %}

select {{ column_name }}
from {{ model }}
where {{ column_name }} is null
   or {{ column_name }} not between {{ low }} and {{ high }}

{% endtest %}
