-- offering_id_is_unique: offers that stand twice in current_offering.
-- Reads: current_offering.
select offering_id, count(*) as rows_found
from current_offering
group by offering_id
having count(*) > 1
