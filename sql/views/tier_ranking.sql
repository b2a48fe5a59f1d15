-- tier_ranking: the ranked offers of each tier with what they are.
-- Grain: tier_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB.
-- Reads: ranking, current_offering. Read by: page, command line, exports.
create or replace view tier_ranking as
select
    ranking.*,
    current_offering.source_id,
    current_offering.provider,
    current_offering.provider_name,
    current_offering.segment,
    current_offering.product,
    current_offering.plan,
    current_offering.gpu_name,
    current_offering.gpu_text,
    current_offering.gpu_key,
    current_offering.gpu_candidates,
    current_offering.gpu_count,
    current_offering.vram_gib,
    current_offering.link,
    current_offering.purchase,
    current_offering.term_months,
    current_offering.region_text,
    current_offering.region_key,
    current_offering.country,
    current_offering.price_usd_per_gpu_hour,
    current_offering.price_usd_per_instance_hour,
    current_offering.price_state,
    current_offering.billing_increment_s,
    current_offering.storage_usd_per_gb_month,
    current_offering.egress_usd_per_gb,
    current_offering.availability,
    current_offering.evidence,
    current_offering.freshness,
    current_offering.price_date,
    current_offering.age_days,
    current_offering.source_url
from ranking
join current_offering using (offering_id)
order by ranking.tier_id, ranking.rank;

comment on view tier_ranking is 'the ranked offers of each tier with what they are';
