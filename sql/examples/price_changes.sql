-- price_changes: Which prices changed, and by how much?
select
    later.source_id,
    later.offering_id,
    later.from_date,
    earlier.price_usd_per_gpu_hour as before_usd_per_gpu_hour,
    later.price_usd_per_gpu_hour as after_usd_per_gpu_hour
from price_history as earlier
join price_history as later
    on later.source_id = earlier.source_id
    and later.offering_id = earlier.offering_id
    and later.from_date = earlier.to_date
order by later.from_date desc, later.source_id, later.offering_id
limit 50
