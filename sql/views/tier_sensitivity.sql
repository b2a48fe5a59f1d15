-- tier_sensitivity: whether the first place of a tier hangs on a speed, on one offer, or on an assumed rate of losses.
-- Grain: tier_id.
-- Units: USD of the objective.
-- Reads: ranking. Read by: examples.
create or replace view tier_sensitivity as
select
    tier_id,
    offering_id,
    survives_slower,
    survives_faster,
    survives_loss,
    is_spot_sensitive,
    objective_usd,
    objective_low_usd,
    objective_high_usd,
    total_usd,
    total_low_usd,
    total_high_usd,
    bill_state
from ranking
where is_headline
order by tier_id;

comment on view tier_sensitivity is 'whether the first place of a tier hangs on a speed, on one offer, or on an assumed rate of losses';
