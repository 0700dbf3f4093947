-- Readers of the ratings expect only these values.
select
    origin,
    dest,
    rating
from {{ ref('route_statistics') }}
where rating not in ('good', 'fair', 'poor')
