-- ranking_places_are_gapless: tiers whose places do not run from 1 to the number of ranked offers.
-- Reads: ranking.
select tier_id, max(place) as last_place, count(*) as offers
from ranking
group by tier_id
having max(place) <> count(*) or min(place) <> 1
