-- history_shows_tonight: current offers of a source that have no open price interval.
-- Reads: offering, price_history.
select offering.source_id, offering.offering_id
from offering
left join price_history
    on price_history.source_id = offering.source_id
    and price_history.offering_id = offering.offering_id
    and price_history.to_date is null
where price_history.offering_id is null
