-- price_per_gpu_times_count: offers whose price per GPU times count is not the price of the instance (0.1 % allowed for rounding).
-- Reads: offering.
select source_id, offering_id, price_usd_per_gpu_hour, gpu_count, price_usd_per_instance_hour
from offering
where abs(cast(price_usd_per_gpu_hour as double) * gpu_count - cast(price_usd_per_instance_hour as double))
    > 0.001 * cast(price_usd_per_instance_hour as double) + 0.00001 * gpu_count
