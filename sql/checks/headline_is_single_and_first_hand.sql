-- headline_is_single_and_first_hand: tiers with two headlines, or one on a second-hand price or an uncalibrated speed.
-- Reads: tier_ranking.
select tier_id, any_value(offering_id) as offering_id
from tier_ranking
where is_headline
group by tier_id
having count(*) > 1 or bool_or(evidence = 'second_hand') or bool_or(not is_calibrated)
