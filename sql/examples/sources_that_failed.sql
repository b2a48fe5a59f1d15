-- sources_that_failed: Which sources did not give tonight's prices, and why?
select source_id, outcome, reason, last_good_night, age_days
from source_health
where kind = 'module' and outcome not in ('ok', 'unchanged')
order by source_id
