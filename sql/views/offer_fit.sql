-- offer_fit: what each priced current offer does for a popular model, and what a million output tokens cost on it.
-- Grain: offering_id, model_id, weight_precision, context_tokens, users.
-- Units: money in USD ex VAT of one instance that is always busy; memory in GiB of one GPU.
-- Reads: current_offering, offering_hardware, fit. Read by: examples.
create or replace view offer_fit as
select
    offer.offering_id,
    offer.provider,
    offer.plan,
    offer.purchase,
    offer.region_key,
    offer.availability,
    offer.freshness,
    offer.price_usd_per_instance_hour,
    fit.*,
    cast(offer.price_usd_per_instance_hour as double) / (fit.tokens_per_s_per_user * fit.users * 3600) * 1e6
        as usd_per_million_output_tokens
from current_offering as offer
join offering_hardware using (offering_id)
join fit using (hardware_id)
where offer.price_state = 'priced';

comment on view offer_fit is 'what each priced current offer does for a popular model, and what a million output tokens cost on it';
comment on column offer_fit.usd_per_million_output_tokens is 'price of a million output tokens with all users at work, USD';
