-- Whoever reads the ratings knows these words and no others.
select
    origin,
    dest,
    rating
from {{ ref('route_statistics') }}
where rating not in ('good', 'fair', 'poor')
