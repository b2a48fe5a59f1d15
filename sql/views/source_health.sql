-- source_health: the newest outcome of each source, with its terms, and each provider that no source asks.
-- Grain: source_id.
-- Units: seconds in s; age_days is days since the last good night.
-- Reads: source, source_run, offering. Read by: current_offering, page, command line.
create or replace view source_health as
with newest_run as (
    select *
    from source_run
    qualify row_number() over (partition by source_id order by night desc) = 1
),
bundled as (
    select offering.provider, count(*) as offerings
    from offering
    join source on source.source_id = offering.source_id and source.basis = 'bundled'
    group by offering.provider
)
select
    source.source_id,
    source.kind,
    source.basis,
    source.provider,
    source.name,
    source.segment,
    newest_run.night,
    case
        when source.kind = 'bundled' then 'bundled'
        when source.kind = 'none' then 'not_asked'
        when source.is_on then coalesce(newest_run.outcome, 'never')
        else 'off'
    end as outcome,
    case when source.is_on then newest_run.reason else source.off_reason end as reason,
    newest_run.payloads,
    newest_run.bytes,
    newest_run.listings,
    coalesce(newest_run.offerings, bundled.offerings) as offerings,
    newest_run.rejects,
    newest_run.findings,
    newest_run.last_good_night,
    (select max(night) from source_run) - newest_run.last_good_night as age_days,
    newest_run.seconds,
    source.terms,
    source.terms_url,
    source.terms_note,
    source.is_on,
    source.off_reason,
    source.auth_env,
    source.homepage,
    source.pricing_url
from source
left join newest_run using (source_id)
left join bundled on bundled.provider = source.provider and source.kind = 'bundled'
order by source.source_id;

comment on view source_health is 'the newest outcome of each source, with its terms, and each provider that no source asks';
comment on column source_health.kind is 'module: it is asked; bundled: a provider of our bundled list that no module asks; none: a provider without a price that could be read';
comment on column source_health.basis is 'who says it: own (the provider itself), mirror, catalog or bundled; null where nobody is asked';
comment on column source_health.provider is 'provider whose offers it lists; null for a source of many';
comment on column source_health.outcome is 'ok, unchanged, stale, blocked, skipped, failed, held, waiting, off or never; bundled or not_asked where no module asks';
comment on column source_health.reason is 'why the newest outcome is not ok, why the source is off, or why there is nothing to ask';
comment on column source_health.offerings is 'offerings made; of a provider that no module asks those of the bundled list';
comment on column source_health.age_days is 'days since the last good night';
