select * from {{ ref('severities') }} where severity > 2
