select results.node, results.status, severities.severity, invocations.command
from {{ source('kept', 'results') }} as results
join {{ source('kept', 'invocations') }} as invocations using (invocation)
left join {{ ref('severities') }} as severities on results.status = severities.status
