with routes as (

    select
        origin,
        dest,
        max(distance_miles) as distance_miles,
        count(*) as flights,
        count_if(arrival_delay >= 15) / count(*) as late_share,
        round(avg(air_minutes), 1) as mean_air_minutes
    from {{ ref('fct_flights') }}
    group by origin, dest

)

select
    routes.origin,
    routes.dest,
    airports.airport_name as dest_name,
    routes.distance_miles,
    routes.flights,
    round(routes.late_share, 4) as late_share,
    routes.mean_air_minutes,
    case
        when routes.late_share >= 0.3 then 'poor'
        when routes.late_share >= 0.2 then 'fair'
        else 'good'
    end as rating
from routes
left join {{ ref('stg_airports') }} as airports
    on routes.dest = airports.airport
