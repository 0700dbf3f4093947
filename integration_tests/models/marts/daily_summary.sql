select
    flights.flight_date,
    flights.origin,
    max(holidays.holiday) as holiday,
    count(*) as flights,
    count_if(flights.is_cancelled) as cancelled_flights,
    sum(flights.seats) as seats,
    round(avg(flights.departure_delay), 2) as mean_departure_delay,
    round(max(flights.rain_inches), 2) as most_rain_inches,
    min(flights.visibility_miles) as least_visibility_miles
from {{ ref('fct_flights') }} as flights
left join {{ ref('holidays') }} as holidays
    on flights.flight_date = holidays.holiday_date
group by flights.flight_date, flights.origin
