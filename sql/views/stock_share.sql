-- stock_share: in which share of the nights that tell an offer was in stock.
-- Grain: source_id, offering_id.
-- Units: share as a ratio of nights.
-- Reads: stock_interval. Read by: current_offering.
create or replace view stock_share as
select
    source_id,
    offering_id,
    coalesce(sum(to_number - from_number) filter (where is_in_stock), 0) / sum(to_number - from_number)
        as nights_in_stock_share,
    cast(sum(to_number - from_number) as bigint) as nights_observed,
    min(first_night) as first_night,
    max(last_night) as last_night
from stock_interval
group by source_id, offering_id;

comment on view stock_share is 'in which share of the nights that tell an offer was in stock';
comment on column stock_share.nights_in_stock_share is 'share of the observed nights in stock or low; null where no night tells';
comment on column stock_share.nights_observed is 'nights on which the source said whether the offer is in stock';
