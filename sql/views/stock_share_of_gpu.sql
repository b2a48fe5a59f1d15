-- stock_share_of_gpu: in which share of the nights that tell a provider had a GPU in stock in a region, in any of its offers.
-- Grain: provider, gpu_key, purchase, region_text.
-- Units: share as a ratio of nights.
-- Reads: current_offering, availability_history, source_run. Read by: command line.
-- Of the offers that stand tonight. A night tells where one of them was said to be in stock, low or out of stock.
create or replace view stock_share_of_gpu as
with good_night as (
    select distinct source_id, last_good_night as night from source_run where last_good_night is not null
),
observed as (
    select
        offer.provider,
        offer.gpu_key,
        offer.purchase,
        offer.region_text,
        good_night.night,
        bool_or(history.availability <> 'out_of_stock') as is_in_stock
    from current_offering as offer
    join availability_history as history
        on history.source_id = offer.source_id and history.offering_id = offer.offering_id
    join good_night
        on good_night.source_id = history.source_id
        and good_night.night >= history.from_date
        and good_night.night < coalesce(history.to_date, date '9999-12-31')
    where history.availability in ('in_stock', 'low', 'out_of_stock') and offer.gpu_key is not null
    group by offer.provider, offer.gpu_key, offer.purchase, offer.region_text, good_night.night
)
select
    provider,
    gpu_key,
    purchase,
    region_text,
    count(*) filter (where is_in_stock) / count(*) as nights_in_stock_share,
    count(*) as nights_observed,
    min(night) as first_night,
    max(night) as last_night
from observed
group by provider, gpu_key, purchase, region_text
order by provider, gpu_key, purchase, region_text;

comment on view stock_share_of_gpu is 'in which share of the nights that tell a provider had a GPU in stock in a region, in any of its offers';
