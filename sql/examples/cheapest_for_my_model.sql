-- cheapest_for_my_model: Which offer serves Qwen3 32B in FP8 to eight people with 16k context for the least money?
select
    provider,
    plan,
    purchase,
    hardware_id,
    round(load_ratio, 2) as load,
    round(tokens_per_s_per_user, 1) as tokens_per_s_per_user,
    price_usd_per_instance_hour,
    round(usd_per_million_output_tokens, 2) as usd_per_million_output_tokens
from offer_fit
where model_id = 'qwen3-32b'
    and weight_precision = 'fp8'
    and context_tokens = 16384
    and users = 8
    and verdict = 'fits'
    and purchase = 'on_demand'
order by price_usd_per_instance_hour, load_ratio, provider, plan
limit 20
