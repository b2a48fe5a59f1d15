-- tier_exclusion: the offers that cannot do the job of a tier, with one reason each.
-- Grain: tier_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB.
-- Reads: exclusion, offer_in_brief. Read by: page, command line, examples.
create or replace view tier_exclusion as
select exclusion.*, offer_in_brief.* exclude (offering_id)
from exclusion
join offer_in_brief using (offering_id)
order by exclusion.tier_id, exclusion.reason, exclusion.offering_id;

comment on view tier_exclusion is 'the offers that cannot do the job of a tier, with one reason each';
