-- current_offering: what can be rented as far as is known tonight: live, else the last good night, else the bundled list prices.
-- Grain: source_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB, age_days in days.
-- Reads: offering, source, source_run, source_health, stock_share, gpu, provider_term, assumption. Read by: best_by_tier, offer_fit, offer_in_brief, stock_share_of_gpu, the night, page, command line, exports.
create or replace view current_offering as
with tonight as (
    select max(night) as night from source_run
),
-- A price that was to come takes effect on its day, also where the source is not heard that night, and the one before goes.
dated as (
    select offering.*, coalesce(price_state = 'future' and valid_from <= tonight.night, false) as is_due
    from offering
    cross join tonight
),
effective as (
    select * exclude (is_due) replace (if(is_due, 'priced', price_state) as price_state)
    from dated
    window same_offer as (
        partition by
            source_id, provider, product, segment, origin, plan, gpu_text, gpu_count, vram_gib,
            region_text, zone_text, purchase, term_months, coalesce(upfront_listed > 0, false)
    )
    qualify (price_state = 'future' and not is_due)
        or not bool_or(is_due) over same_offer
        or (is_due and valid_from = max(valid_from) filter (where is_due) over same_offer)
),
-- What a source that is on gave on its last good night, while that is not too long ago.
known as (
    select
        offering.source_id,
        offering.offering_id,
        offering.provider,
        offering.night,
        offering.evidence,
        source.basis,
        case source.basis when 'mirror' then 1 when 'catalog' then 2 when 'bundled' then 3 else 0 end as basis_order
    from effective as offering
    join source on source.source_id = offering.source_id and source.is_on
    cross join tonight
    where source.basis = 'bundled'
        or tonight.night - offering.night <= (
            select value from assumption where assumption_id = 'last_good_stands_in_days'
        )
),
-- The sources that speak for a provider: all that are its own, else one mirror, else one catalog, else the bundled list.
-- Of several mirrors or catalogs it is the one with the newest night, then the one that names more.
speaker as (
    select provider, source_id
    from (
        select provider, source_id, basis_order, max(night) as newest_night, count(*) as offers
        from known
        group by provider, source_id, basis_order
    )
    qualify row_number() over (
        partition by provider order by basis_order, newest_night desc, offers desc, source_id
    ) = 1 or basis_order = 0
),
-- An offer that two sources of a provider have stands once: as it was read live, else from the newer night.
standing as (
    select known.source_id, known.offering_id, known.basis
    from known
    join speaker using (provider, source_id)
    qualify row_number() over (
        partition by known.offering_id order by known.evidence <> 'live', known.night desc, known.source_id
    ) = 1
),
-- Where the origin has a price for what a reseller sells, or another reseller sells it for less, the offer is not counted.
origin_of_resold as (
    select distinct provider, coalesce(gpu_key, gpu_text) as gpu, gpu_count, purchase, term_months
    from effective as offering
    semi join standing on standing.source_id = offering.source_id and standing.offering_id = offering.offering_id
    where provider in (select origin from effective where origin is not null)
        and price_state = 'priced'
        and coalesce(price_usd_per_gpu_hour, price_usd_per_instance_hour) is not null
),
resold as (
    select
        offering.source_id,
        offering.offering_id,
        origin_of_resold.provider is null and offering.provider = first_value(offering.provider) over (
            partition by
                offering.origin,
                coalesce(offering.gpu_key, offering.gpu_text),
                offering.gpu_count,
                offering.purchase,
                offering.term_months,
                coalesce(offering.region_key, offering.region_text)
            order by
                case
                    when offering.price_state = 'priced'
                        then coalesce(offering.price_usd_per_gpu_hour, offering.price_usd_per_instance_hour)
                end nulls last,
                offering.provider,
                offering.offering_id
        ) as is_counted
    from effective as offering
    semi join standing on standing.source_id = offering.source_id and standing.offering_id = offering.offering_id
    left join origin_of_resold
        on origin_of_resold.provider = offering.origin
        and origin_of_resold.gpu = coalesce(offering.gpu_key, offering.gpu_text)
        and origin_of_resold.gpu_count is not distinct from offering.gpu_count
        and origin_of_resold.purchase = offering.purchase
        and origin_of_resold.term_months is not distinct from offering.term_months
    where offering.segment = 'reseller' and offering.origin <> offering.provider
),
provider_name as (
    select provider, any_value(name order by product) as provider_name from provider_term group by provider
),
candidate_name as (
    select gpu_candidates, string_agg(gpu.name, ' or ' order by gpu.name) as gpu_name
    from (
        select gpu_candidates, unnest(gpu_candidates) as gpu_key
        from (select distinct gpu_candidates from effective)
    )
    join gpu using (gpu_key)
    group by gpu_candidates
)
select
    offering.*,
    coalesce(candidate_name.gpu_name, offering.gpu_text) as gpu_name,
    coalesce(provider_name.provider_name, offering.provider) as provider_name,
    standing.basis,
    case
        when standing.basis = 'bundled' then 'bundled'
        when offering.night = tonight.night then 'tonight'
        else 'last_good'
    end as freshness,
    tonight.night - offering.price_date as age_days,
    coalesce(resold.is_counted, true) as is_counted,
    stock_share.nights_in_stock_share,
    source_health.outcome as source_outcome,
    case when offering.night < tonight.night then source_health.reason end as stale_reason
from effective as offering
join standing using (source_id, offering_id)
cross join tonight
left join resold using (source_id, offering_id)
left join stock_share using (source_id, offering_id)
left join source_health using (source_id)
left join candidate_name using (gpu_candidates)
left join provider_name on provider_name.provider = offering.provider
order by offering.provider, offering.offering_id, offering.source_id;

comment on view current_offering is 'what can be rented as far as is known tonight';
comment on column current_offering.night is 'night of the source from which the row comes';
comment on column current_offering.provider is 'provider id';
comment on column current_offering.product is 'product of the provider with its own billing rules';
comment on column current_offering.gpu_key is 'our key of the GPU; null when unmapped or ambiguous';
comment on column current_offering.link is 'link between the GPUs of the instance: nvlink, xgmi, pcie, none (one GPU) or unknown';
comment on column current_offering.billing_increment_s is 'billed step, seconds; null is unknown';
comment on column current_offering.billing_minimum_s is 'least billed time per start, seconds; null is unknown';
comment on column current_offering.storage_usd_per_gb_month is 'storage, USD per GB and month; null is unknown';
comment on column current_offering.egress_free_gb_per_month is 'GB of outgoing data free each month; null is unknown';
comment on column current_offering.spot_notice_s is 'seconds between notice and loss of a spot machine; null is unknown';
comment on column current_offering.gpu_name is 'name of the GPU for people; candidates joined by "or"';
comment on column current_offering.provider_name is 'name of the provider for people';
comment on column current_offering.basis is 'who says it: own (the provider itself), mirror, catalog or bundled';
comment on column current_offering.freshness is 'tonight, last_good or bundled';
comment on column current_offering.age_days is 'days between the price date and tonight';
comment on column current_offering.is_counted is 'false for a resold offer for which its origin has a price, or another reseller a lower one; figures about the market leave it out';
comment on column current_offering.source_outcome is 'newest outcome of the source';
comment on column current_offering.stale_reason is 'why the row is not from tonight';
