-- source_coverage: how much of what a source named on its last good night became offers with a known GPU, a price and a stock.
-- Grain: source_id.
-- Units: counts; share as a ratio of offers.
-- Reads: listing, offering. Read by: command line.
create or replace view source_coverage as
with offer_of_name as (
    select
        source_id,
        gpu_text,
        bool_or(price_usd_per_gpu_hour is not null or price_usd_per_instance_hour is not null) as is_priced,
        bool_or(len(gpu_candidates) > 0) as is_mapped
    from offering
    group by source_id, gpu_text
),
name as (
    select
        named.source_id,
        named.gpu_text,
        coalesce(offer_of_name.is_priced, false) as is_priced,
        coalesce(offer_of_name.is_mapped, false) as is_mapped
    from (select distinct source_id, gpu_text from listing where gpu_text is not null) as named
    left join offer_of_name using (source_id, gpu_text)
),
of_names as (
    select
        source_id,
        count(*) as gpu_names,
        count(*) filter (where is_priced) as gpu_names_priced,
        count(*) filter (where is_mapped) as gpu_names_mapped,
        coalesce(list(gpu_text order by gpu_text) filter (where not is_priced), []) as names_without_price,
        coalesce(list(gpu_text order by gpu_text) filter (where not is_mapped), []) as names_unmapped
    from name
    group by source_id
),
of_offers as (
    select
        source_id,
        count(*) as offers,
        count(*) filter (where price_usd_per_instance_hour is not null) as offers_priced,
        count(distinct provider) as providers,
        count(distinct region_text) as regions,
        count(distinct region_text) filter (where region_key is null and country is null) as regions_unknown,
        list_sort(list(distinct purchase)) as purchases,
        count(*) filter (where availability in ('in_stock', 'low', 'out_of_stock')) / count(*) as stock_told_share
    from offering
    group by source_id
)
select
    of_names.source_id,
    of_names.* exclude (source_id),
    of_offers.* exclude (source_id)
from of_names
left join of_offers using (source_id)
order by of_names.source_id;

comment on view source_coverage is 'how much of what a source named on its last good night became offers with a known GPU, a price and a stock';
comment on column source_coverage.gpu_names is 'GPU names of the listings, each spelling once; the plan where the source names no GPU';
comment on column source_coverage.gpu_names_priced is 'names with at least one USD price';
comment on column source_coverage.gpu_names_mapped is 'names that stand for at least one GPU we know';
comment on column source_coverage.names_without_price is 'names without any USD price';
comment on column source_coverage.names_unmapped is 'names that stand for no GPU we know';
comment on column source_coverage.offers is 'offers made';
comment on column source_coverage.offers_priced is 'offers with a USD price of the instance';
comment on column source_coverage.providers is 'providers that the offers are of';
comment on column source_coverage.regions is 'spellings of regions';
comment on column source_coverage.regions_unknown is 'spellings of regions whose place is not known';
comment on column source_coverage.purchases is 'ways to pay that are offered';
comment on column source_coverage.stock_told_share is 'share of the offers for which the source says in stock, low or out of stock';
