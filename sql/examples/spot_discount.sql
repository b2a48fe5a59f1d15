-- spot_discount: How much cheaper is spot than on demand for the same plan and region?
select
    on_demand.provider_name,
    on_demand.plan,
    on_demand.region_text,
    on_demand.price_usd_per_instance_hour as on_demand_usd_per_hour,
    spot.price_usd_per_instance_hour as spot_usd_per_hour,
    round(1 - cast(spot.price_usd_per_instance_hour as double) / cast(on_demand.price_usd_per_instance_hour as double), 3) as discount_ratio
from current_offering as on_demand
join current_offering as spot
    on spot.provider = on_demand.provider
    and spot.plan = on_demand.plan
    and spot.region_text is not distinct from on_demand.region_text
    and spot.purchase = 'spot'
where on_demand.purchase = 'on_demand'
order by discount_ratio desc
limit 20
