-- source_health: the newest outcome of each source, with its terms.
-- Grain: source_id.
-- Units: seconds in s; age_days is days since the last good night.
-- Reads: source, source_run, release. Read by: current_offering, page, command line.
create or replace view source_health as
with newest_run as (
    select *
    from source_run
    qualify row_number() over (partition by source_id order by night desc) = 1
)
select
    source.source_id,
    source.name,
    source.segment,
    newest_run.night,
    case when source.is_on then coalesce(newest_run.outcome, 'never') else 'off' end as outcome,
    case when source.is_on then newest_run.reason else source.off_reason end as reason,
    newest_run.payloads,
    newest_run.bytes,
    newest_run.listings,
    newest_run.offerings,
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
order by source.source_id;

comment on view source_health is 'the newest outcome of each source, with its terms';
comment on column source_health.outcome is 'ok, unchanged, stale, blocked, skipped, failed, held, off or never';
comment on column source_health.age_days is 'days since the last good night';
