-- stock_interval: the intervals in which a source said whether an offer is in stock, in numbers of its good nights.
-- Grain: source_id, offering_id, from_number.
-- Units: the good nights of a source are numbered from 1; an interval is half-open, [from_number, to_number).
-- Reads: availability_history, source_run. Read by: stock_share, stock_share_of_gpu.
-- Intervals begin and end on good nights, so the nights in one are the difference of two numbers. A night on which the
-- offer was not listed, or its stock was not said, tells nothing.
create or replace view stock_interval as
with good_night as (
    select source_id, night, row_number() over (partition by source_id order by night) as number
    from (select distinct source_id, last_good_night as night from source_run where last_good_night is not null)
),
newest as (
    select source_id, max(number) as number from good_night group by source_id
),
told as (
    select
        history.source_id,
        history.offering_id,
        history.availability <> 'out_of_stock' as is_in_stock,
        history.from_date as first_night,
        opening.number as from_number,
        coalesce(closing.number, newest.number + 1) as to_number
    from availability_history as history
    join good_night as opening on opening.source_id = history.source_id and opening.night = history.from_date
    join newest on newest.source_id = history.source_id
    left join good_night as closing on closing.source_id = history.source_id and closing.night = history.to_date
    where history.availability in ('in_stock', 'low', 'out_of_stock')
)
select told.*, good_night.night as last_night
from told
join good_night on good_night.source_id = told.source_id and good_night.number = told.to_number - 1;

comment on view stock_interval is 'the intervals in which a source said whether an offer is in stock, in numbers of its good nights';
comment on column stock_interval.is_in_stock is 'true for in stock or low, false for out of stock';
comment on column stock_interval.first_night is 'first observed night';
comment on column stock_interval.from_number is 'number of the first good night of the source inside the interval';
comment on column stock_interval.to_number is 'number of the first good night of the source after the interval';
comment on column stock_interval.last_night is 'last observed night';
