-- first_places_that_are_firm: Where does the same GPU lead at lower and higher speeds, and without this offer?
select tier_id, gpu_name, provider_name, survives_slower, survives_faster, survives_loss, is_spot_sensitive,
    round(total_low_usd, 2) as total_low_usd, round(total_high_usd, 2) as total_high_usd
from tier_sensitivity
join offer_in_brief using (offering_id)
order by survives_slower and survives_faster and survives_loss desc, tier_id
