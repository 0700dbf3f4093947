{{ config(materialized='view') }}
select results.invocation, results.unique_id, models.path
from {{ ref('dbt_run_results') }} as results
left join {{ ref('dbt_models') }} as models on results.unique_id = models.unique_id
where results.status in ('error', 'fail')
