select
    origin,
    rating,
    count(*) as routes,
    sum(flights) as flights
from {{ ref('route_statistics') }}
group by origin, rating
