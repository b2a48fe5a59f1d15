-- ranked_offer_has_a_price: ranked offers whose price is a lower bound, announced or missing.
-- Reads: tier_ranking.
select tier_id, offering_id, price_state
from tier_ranking
where price_state <> 'priced' or price_usd_per_instance_hour is null
