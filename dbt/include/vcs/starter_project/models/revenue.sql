{{ config(materialized='table', primary_key='ordered_on') }}

select ordered_on, count(*) as orders, sum(amount) as revenue
from {{ ref('orders') }}
group by ordered_on
