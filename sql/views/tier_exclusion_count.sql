-- tier_exclusion_count: how many offers each reason excludes from a tier.
-- Grain: tier_id, reason.
-- Units: counts.
-- Reads: exclusion. Read by: page, command line.
create or replace view tier_exclusion_count as
select
    tier_id,
    reason,
    is_unknown,
    count(*) as offers
from exclusion
group by tier_id, reason, is_unknown
order by tier_id, offers desc, reason;

comment on view tier_exclusion_count is 'how many offers each reason excludes from a tier';
comment on column tier_exclusion_count.offers is 'offers with this reason';
