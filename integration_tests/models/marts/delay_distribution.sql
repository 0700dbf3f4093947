select
    flights.carrier,
    bands.band,
    count(*) as flights
from {{ ref('fct_flights') }} as flights
inner join {{ ref('delay_bands') }} as bands
    on (bands.from_minutes is null or flights.arrival_delay >= bands.from_minutes)
    and (bands.below_minutes is null or flights.arrival_delay < bands.below_minutes)
group by flights.carrier, bands.band
