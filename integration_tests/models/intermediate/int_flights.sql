select
    flights.*,
    airlines.airline,
    year(flights.flight_date) - planes.built_in as plane_age,
    planes.seats,
    weather.rain_inches,
    weather.visibility_miles
from {{ ref('stg_flights') }} as flights
inner join {{ ref('stg_airlines') }} as airlines
    on flights.carrier = airlines.carrier
left join {{ ref('stg_planes') }} as planes
    on flights.tail_number = planes.tail_number
left join {{ ref('stg_weather') }} as weather
    on flights.origin = weather.origin
    and flights.scheduled_hour = weather.observed_hour
