-- price_has_no_zero: offers with a price that is not above zero.
-- Reads: offering.
select source_id, offering_id, price_usd_per_instance_hour
from offering
where price_usd_per_instance_hour <= 0 or price_usd_per_gpu_hour <= 0
