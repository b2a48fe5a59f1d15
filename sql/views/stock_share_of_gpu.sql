-- stock_share_of_gpu: in which share of the nights that tell a provider had a GPU in stock in a region, in any of its offers.
-- Grain: source_id, provider, gpu_key, purchase, region_text.
-- Units: share as a ratio of nights.
-- Reads: current_offering, stock_interval. Read by: examples.
-- Of the offers that stand tonight. Intervals of several offers overlap: each adds only the nights beyond those before it.
create or replace view stock_share_of_gpu as
with interval_of_gpu as (
    select distinct
        offer.source_id,
        offer.provider,
        offer.gpu_key,
        offer.purchase,
        offer.region_text,
        stock_interval.* exclude (source_id, offering_id)
    from current_offering as offer
    join stock_interval on stock_interval.source_id = offer.source_id and stock_interval.offering_id = offer.offering_id
    where offer.gpu_key is not null
),
added as (
    select
        *,
        to_number - greatest(from_number, coalesce(max(to_number) over before_it, 0)) as nights,
        to_number - greatest(from_number, coalesce(max(to_number) over before_it_in_its_state, 0)) as nights_of_state
    from interval_of_gpu
    window
        before_it as (
            partition by source_id, provider, gpu_key, purchase, region_text
            order by from_number, to_number
            rows between unbounded preceding and 1 preceding
        ),
        before_it_in_its_state as (
            partition by source_id, provider, gpu_key, purchase, region_text, is_in_stock
            order by from_number, to_number
            rows between unbounded preceding and 1 preceding
        )
)
select
    source_id,
    provider,
    gpu_key,
    purchase,
    region_text,
    coalesce(sum(greatest(nights_of_state, 0)) filter (where is_in_stock), 0) / sum(greatest(nights, 0))
        as nights_in_stock_share,
    cast(sum(greatest(nights, 0)) as bigint) as nights_observed,
    min(first_night) as first_night,
    max(last_night) as last_night
from added
group by source_id, provider, gpu_key, purchase, region_text
order by provider, gpu_key, purchase, region_text, source_id;

comment on view stock_share_of_gpu is 'in which share of the nights that tell a provider had a GPU in stock in a region, in any of its offers';
comment on column stock_share_of_gpu.nights_in_stock_share is 'share of the observed nights on which at least one offer was in stock or low';
comment on column stock_share_of_gpu.nights_observed is 'nights on which the source said of at least one offer whether it is in stock';
