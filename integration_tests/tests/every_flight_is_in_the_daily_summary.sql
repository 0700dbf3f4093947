select
    summary.flights as flights_in_summary,
    facts.flights as flights_in_facts
from (select sum(flights) as flights from {{ ref('daily_summary') }}) as summary
cross join (select count(*) as flights from {{ ref('fct_flights') }}) as facts
where summary.flights <> facts.flights
