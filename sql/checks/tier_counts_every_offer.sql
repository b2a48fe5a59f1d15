-- tier_counts_every_offer: tiers in which ranked, excluded and unknown offers do not add up to all offers.
-- Reads: tier, ranking, exclusion, current_offering.
with seen as (
    select tier_id, offering_id from ranking
    union all
    select tier_id, offering_id from exclusion
)
select tier.tier_id, count(seen.offering_id) as offers_seen
from tier
left join seen using (tier_id)
group by tier.tier_id
having count(seen.offering_id) <> (select count(*) from current_offering)
