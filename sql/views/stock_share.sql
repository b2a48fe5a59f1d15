-- stock_share: in which share of the nights that tell an offer was in stock.
-- Grain: source_id, offering_id.
-- Units: share as a ratio of nights.
-- Reads: availability_history, source_run. Read by: current_offering.
-- A night tells where the source was good, listed the offer, and said in stock, low or out of stock. A night on which
-- the offer was not listed, or its stock was not said, tells nothing.
create or replace view stock_share as
with good_night as (
    select source_id, night, row_number() over (partition by source_id order by night) as number
    from (select distinct source_id, last_good_night as night from source_run where last_good_night is not null)
),
-- Intervals begin and end on good nights, so the nights in one are the difference of two numbers.
told as (
    select
        history.source_id,
        history.offering_id,
        history.availability <> 'out_of_stock' as is_in_stock,
        coalesce(closing.number, count_of.nights + 1) - opening.number as nights,
        opening.night as first_night,
        closing.number - 1 as last_number,
        count_of.nights as newest_number
    from availability_history as history
    join good_night as opening on opening.source_id = history.source_id and opening.night = history.from_date
    join (select source_id, count(*) as nights from good_night group by source_id) as count_of
        on count_of.source_id = history.source_id
    left join good_night as closing on closing.source_id = history.source_id and closing.night = history.to_date
    where history.availability in ('in_stock', 'low', 'out_of_stock')
),
share as (
    select
        source_id,
        offering_id,
        sum(nights) filter (where is_in_stock) / sum(nights) as nights_in_stock_share,
        sum(nights) as nights_observed,
        min(first_night) as first_night,
        max(coalesce(last_number, newest_number)) as last_number
    from told
    group by source_id, offering_id
)
select
    share.source_id,
    share.offering_id,
    coalesce(share.nights_in_stock_share, 0) as nights_in_stock_share,
    cast(share.nights_observed as bigint) as nights_observed,
    share.first_night,
    good_night.night as last_night
from share
join good_night on good_night.source_id = share.source_id and good_night.number = share.last_number;

comment on view stock_share is 'in which share of the nights that tell an offer was in stock';
comment on column stock_share.nights_in_stock_share is 'share of the observed nights in stock or low; null where no night tells';
comment on column stock_share.nights_observed is 'nights on which the source said whether the offer is in stock';
comment on column stock_share.first_night is 'first observed night';
comment on column stock_share.last_night is 'last observed night';
