-- tier_ranking: the ranked offers of each tier with what they are.
-- Grain: tier_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB.
-- Reads: ranking, offer_in_brief. Read by: best_by_tier, runner_up, page, command line, exports.
create or replace view tier_ranking as
select ranking.*, offer_in_brief.* exclude (offering_id)
from ranking
join offer_in_brief using (offering_id)
order by ranking.tier_id, ranking.rank;

comment on view tier_ranking is 'the ranked offers of each tier with what they are';
