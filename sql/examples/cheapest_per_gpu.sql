-- cheapest_per_gpu: What is the lowest on-demand price per GPU-hour for each GPU tonight, without private hosts?
select
    gpu_name,
    min(price_usd_per_gpu_hour) as price_usd_per_gpu_hour,
    arg_min(provider_name, price_usd_per_gpu_hour) as provider_name,
    arg_min(age_days, price_usd_per_gpu_hour) as age_days
from current_offering
where purchase = 'on_demand' and price_state = 'priced' and segment <> 'peer_host' and gpu_key is not null
group by gpu_name
order by price_usd_per_gpu_hour
