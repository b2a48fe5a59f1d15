-- offer_in_brief: what a ranking shows of each current offering.
-- Grain: offering_id.
-- Units: money in USD ex VAT, memory in GiB.
-- Reads: current_offering. Read by: tier_ranking, tier_exclusion, examples.
create or replace view offer_in_brief as
select
    offering_id,
    source_id,
    provider,
    provider_name,
    segment,
    product,
    origin,
    plan,
    gpu_name,
    gpu_text,
    gpu_key,
    gpu_candidates,
    gpu_count,
    vram_gib,
    link,
    purchase,
    term_months,
    region_text,
    region_key,
    country,
    price_usd_per_gpu_hour,
    price_usd_per_instance_hour,
    price_state,
    billing_increment_s,
    storage_usd_per_gb_month,
    egress_usd_per_gb,
    availability,
    nights_in_stock_share,
    evidence,
    freshness,
    is_counted,
    price_date,
    age_days,
    source_url
from current_offering;

comment on view offer_in_brief is 'what a ranking shows of each current offering';
