-- price_or_gap: offers that have neither a USD price nor a reason for its absence, or both.
-- Reads: offering.
select source_id, offering_id
from offering
where (price_usd_per_instance_hour is null) = (price_gap is null)
