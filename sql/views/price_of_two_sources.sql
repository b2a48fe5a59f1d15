-- price_of_two_sources: prices of one plan tonight by the provider's own source, and by a mirror or catalog of it.
-- Grain: own_source_id, source_id, provider, plan, place, purchase, term_months, gpu_count.
-- Units: USD per instance-hour and per GPU-hour ex VAT; price_ratio is the price of the other source over the provider's own.
-- Reads: offering, source, source_run. Read by: finding.
create or replace view price_of_two_sources as
with priced as (
    select
        offering.source_id,
        source.basis,
        offering.provider,
        offering.plan,
        coalesce(offering.region_key, offering.region_text) as place,
        offering.purchase,
        offering.term_months,
        offering.gpu_count,
        min(offering.price_usd_per_instance_hour) as usd_per_instance_hour,
        min(offering.price_usd_per_gpu_hour) as usd_per_gpu_hour
    from offering
    join source on source.source_id = offering.source_id and source.is_on
    where source.basis <> 'bundled'
        and offering.price_state = 'priced'
        and offering.night = (select max(night) from source_run)
    group by all
)
select
    own.source_id as own_source_id,
    other.source_id,
    own.provider,
    own.plan,
    own.place,
    own.purchase,
    own.term_months,
    own.gpu_count,
    own.usd_per_instance_hour as own_usd_per_instance_hour,
    other.usd_per_instance_hour,
    own.usd_per_gpu_hour as own_usd_per_gpu_hour,
    other.usd_per_gpu_hour,
    coalesce(
        cast(other.usd_per_instance_hour as double) / cast(own.usd_per_instance_hour as double),
        cast(other.usd_per_gpu_hour as double) / cast(own.usd_per_gpu_hour as double)
    ) as price_ratio
from priced as own
join priced as other
    on other.basis <> 'own'
    and other.provider = own.provider
    and other.plan = own.plan
    and other.place is not distinct from own.place
    and other.purchase = own.purchase
    and other.term_months is not distinct from own.term_months
    and other.gpu_count is not distinct from own.gpu_count
where own.basis = 'own' and price_ratio is not null
order by own.source_id, other.source_id, own.provider, own.plan, own.place, own.purchase, own.term_months;

comment on view price_of_two_sources is 'prices of one plan tonight by the own source of a provider, and by a mirror or catalog of it';
comment on column price_of_two_sources.own_source_id is 'own source of the provider';
comment on column price_of_two_sources.source_id is 'mirror or catalog';
comment on column price_of_two_sources.provider is 'provider id';
comment on column price_of_two_sources.place is 'our key of the place, or the region as written where it is not known';
comment on column price_of_two_sources.own_usd_per_instance_hour is 'lowest price by the own source, USD';
comment on column price_of_two_sources.usd_per_instance_hour is 'lowest price by the mirror or catalog, USD';
comment on column price_of_two_sources.own_usd_per_gpu_hour is 'lowest price of one GPU by the own source, USD';
comment on column price_of_two_sources.usd_per_gpu_hour is 'lowest price of one GPU by the mirror or catalog, USD';
comment on column price_of_two_sources.price_ratio is 'price by the mirror or catalog over the own one, per GPU where that of an instance is not known';
