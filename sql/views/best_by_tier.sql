-- best_by_tier: the offer that leads each tier, or none.
-- Grain: tier_id.
-- Units: money in USD ex VAT.
-- Reads: tier, tier_ranking. Read by: page, command line.
create or replace view best_by_tier as
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
    (select count(*) from ranking where ranking.tier_id = tier.tier_id) as offers_ranked,
    (select count(*) from exclusion where exclusion.tier_id = tier.tier_id and not is_unknown) as offers_excluded,
    (select count(*) from exclusion where exclusion.tier_id = tier.tier_id and is_unknown) as offers_unknown
from tier
left join tier_ranking as lead_offer on lead_offer.tier_id = tier.tier_id and lead_offer.is_headline
order by tier.tier_id;

comment on view best_by_tier is 'the offer that leads each tier, or none';
comment on column best_by_tier.offers_ranked is 'offers that can do the job';
comment on column best_by_tier.offers_excluded is 'offers that cannot';
comment on column best_by_tier.offers_unknown is 'offers for which a fact is missing';
