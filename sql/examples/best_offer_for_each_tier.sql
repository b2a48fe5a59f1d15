-- best_offer_for_each_tier: Which offer leads each workload tier, and what does it cost?
select tier_id, gpu_name, gpus_rented, provider_name, objective, round(objective_usd, 4) as objective_usd, age_days
from best_by_tier
order by tier_id
