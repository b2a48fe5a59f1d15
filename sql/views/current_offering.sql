-- current_offering: what can be rented as far as is known tonight: live, else the last good night, else the bundled list prices.
-- Grain: source_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB, age_days in days.
-- Reads: offering, source_health, gpu, provider_term. Read by: tier_ranking, tier_exclusion, page, exports.
create or replace view current_offering as
with tonight as (
    select max(night) as night from source_run
),
provider_with_a_source as (
    select distinct provider from offering where source_id <> 'list_prices'
),
provider_name as (
    select provider, any_value(name order by product) as provider_name from provider_term group by provider
),
candidate_name as (
    select
        offering.source_id,
        offering.offering_id,
        string_agg(gpu.name, ' or ' order by gpu.name) as gpu_name
    from offering, unnest(offering.gpu_candidates) as candidate(gpu_key)
    join gpu on gpu.gpu_key = candidate.gpu_key
    group by offering.source_id, offering.offering_id
)
select
    offering.*,
    coalesce(candidate_name.gpu_name, offering.gpu_text) as gpu_name,
    coalesce(provider_name.provider_name, offering.provider) as provider_name,
    case
        when offering.source_id = 'list_prices' then 'bundled'
        when offering.night = tonight.night then 'tonight'
        else 'last_good'
    end as freshness,
    tonight.night - offering.price_date as age_days,
    source_health.outcome as source_outcome,
    case when offering.night < tonight.night then source_health.reason end as stale_reason
from offering
cross join tonight
left join source_health using (source_id)
left join candidate_name using (source_id, offering_id)
left join provider_name using (provider)
where offering.source_id <> 'list_prices'
    or offering.provider not in (select provider from provider_with_a_source)
order by offering.provider, offering.offering_id, offering.source_id;

comment on view current_offering is 'what can be rented as far as is known tonight';
comment on column current_offering.night is 'night of the source from which the row comes';
comment on column current_offering.gpu_name is 'name of the GPU for people; candidates joined by "or"';
comment on column current_offering.provider_name is 'name of the provider for people';
comment on column current_offering.freshness is 'tonight, last_good or bundled';
comment on column current_offering.age_days is 'days between the price date and tonight';
comment on column current_offering.source_outcome is 'newest outcome of the source';
comment on column current_offering.stale_reason is 'why the row is not from tonight';
