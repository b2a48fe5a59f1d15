-- ranks_have_no_gap: tiers whose ranks do not run without a gap from 1, or from 2 where no offer may lead.
-- Reads: ranking.
select tier_id, min(rank) as first_rank, max(rank) as last_rank, count(*) as offers
from ranking
group by tier_id
having min(rank) <> case when bool_or(is_headline) then 1 else 2 end
    or max(rank) - min(rank) + 1 <> count(*)
