-- best_by_tier: the offer that leads each tier, or none.
-- Grain: tier_id.
-- Units: money in USD ex VAT.
-- Reads: tier, tier_ranking, ranking, exclusion, current_offering. Read by: command line, examples.
create or replace view best_by_tier as
with seen as (
    select tier_id, offering_id, true as is_ranked, false as is_unknown from ranking
    union all
    select tier_id, offering_id, false, is_unknown from exclusion
),
offers as (
    select
        seen.tier_id,
        count(*) filter (where seen.is_ranked) as ranked,
        count(*) filter (where not seen.is_ranked and not seen.is_unknown) as excluded,
        count(*) filter (where seen.is_unknown) as unknown
    from seen
    semi join (select offering_id from current_offering where is_counted) as counted using (offering_id)
    group by seen.tier_id
)
select
    tier.tier_id,
    tier.group_name,
    tier.title_en,
    lead_offer.gpu_name,
    lead_offer.gpu_text,
    lead_offer.gpu_key,
    lead_offer.gpu_count,
    lead_offer.gpus_rented,
    lead_offer.provider,
    lead_offer.provider_name,
    lead_offer.plan,
    lead_offer.purchase,
    lead_offer.objective_usd,
    coalesce(lead_offer.objective, tier.objective) as objective,
    lead_offer.total_usd,
    lead_offer.is_lower_bound,
    lead_offer.certainty,
    lead_offer.load_ratio,
    lead_offer.speed,
    lead_offer.speed_unit,
    lead_offer.freshness,
    lead_offer.age_days,
    coalesce(offers.ranked, 0) as offers_ranked,
    coalesce(offers.excluded, 0) as offers_excluded,
    coalesce(offers.unknown, 0) as offers_unknown
from tier
left join tier_ranking as lead_offer on lead_offer.tier_id = tier.tier_id and lead_offer.is_headline
left join offers on offers.tier_id = tier.tier_id
order by tier.tier_id;

comment on view best_by_tier is 'the offer that leads each tier, or none';
comment on column best_by_tier.offers_ranked is 'offers that can do the job; resold ones that are not counted are left out of all three';
comment on column best_by_tier.offers_excluded is 'offers that cannot';
comment on column best_by_tier.offers_unknown is 'offers for which a fact is missing';
