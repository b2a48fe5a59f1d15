-- current_offering: what can be rented as far as is known tonight: live, else the last good night, else the bundled list prices.
-- Grain: source_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB, age_days in days.
-- Reads: offering, source, source_health, gpu, provider_term, assumption. Read by: tier_ranking, tier_exclusion, page, exports.
create or replace view current_offering as
with tonight as (
    select max(night) as night from source_run
),
-- What a source that is on gave on its last good night, while that is not too long ago.
collected as (
    select offering.*
    from offering
    join source on source.source_id = offering.source_id and source.is_on
    cross join tonight
    where offering.source_id <> 'list_prices'
        and tonight.night - offering.night <= (
            select value from assumption where assumption_id = 'last_good_stands_in_days'
        )
),
standing as (
    select * from collected
    union all
    select * from offering
    where source_id = 'list_prices' and provider not in (select provider from collected)
),
provider_name as (
    select provider, any_value(name order by product) as provider_name from provider_term group by provider
),
candidate_name as (
    select
        standing.source_id,
        standing.offering_id,
        string_agg(gpu.name, ' or ' order by gpu.name) as gpu_name
    from standing, unnest(standing.gpu_candidates) as candidate(gpu_key)
    join gpu on gpu.gpu_key = candidate.gpu_key
    group by standing.source_id, standing.offering_id
)
select
    standing.*,
    coalesce(candidate_name.gpu_name, standing.gpu_text) as gpu_name,
    coalesce(provider_name.provider_name, standing.provider) as provider_name,
    case
        when standing.source_id = 'list_prices' then 'bundled'
        when standing.night = tonight.night then 'tonight'
        else 'last_good'
    end as freshness,
    tonight.night - standing.price_date as age_days,
    source_health.outcome as source_outcome,
    case when standing.night < tonight.night then source_health.reason end as stale_reason
from standing
cross join tonight
left join source_health using (source_id)
left join candidate_name using (source_id, offering_id)
left join provider_name using (provider)
order by standing.provider, standing.offering_id, standing.source_id;

comment on view current_offering is 'what can be rented as far as is known tonight';
comment on column current_offering.night is 'night of the source from which the row comes';
comment on column current_offering.gpu_name is 'name of the GPU for people; candidates joined by "or"';
comment on column current_offering.provider_name is 'name of the provider for people';
comment on column current_offering.freshness is 'tonight, last_good or bundled';
comment on column current_offering.age_days is 'days between the price date and tonight';
comment on column current_offering.source_outcome is 'newest outcome of the source';
comment on column current_offering.stale_reason is 'why the row is not from tonight';
