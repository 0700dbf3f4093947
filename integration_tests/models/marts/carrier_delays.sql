{% set late_after_minutes = 15 %}

select
    carrier,
    airline,
    count(*) as flights,
    count_if(is_cancelled) as cancelled_flights,
    count_if(arrival_delay >= {{ late_after_minutes }}) as late_flights,
    round(avg(arrival_delay), 2) as mean_arrival_delay,
    max(arrival_delay) as worst_arrival_delay
from {{ ref('fct_flights') }}
group by carrier, airline
