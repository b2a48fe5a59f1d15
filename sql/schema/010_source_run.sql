-- source_run: how collecting one source went in one night
-- Grain: night, source_id.
-- Units: seconds in s, bytes in bytes.
-- Reads: nothing. Read by: current_offering, price_of_two_sources, source_health, stock_interval, command line.
create table source_run (
    night date not null,
    source_id varchar not null,
    started_at timestamptz,
    outcome varchar,
    reason varchar,
    payloads integer,
    bytes bigint,
    listings integer,
    offerings integer,
    rejects integer,
    findings integer,
    seconds double,
    last_good_night date,
    content_digest varchar
);

comment on table source_run is 'how collecting one source went in one night';
comment on column source_run.night is 'logical date of the night, UTC';
comment on column source_run.source_id is 'source that was collected; a module in scrapers/providers';
comment on column source_run.started_at is 'when collecting began, UTC';
comment on column source_run.outcome is 'ok, unchanged, stale, blocked, skipped, failed, held or waiting';
comment on column source_run.reason is 'why the outcome is not ok, one line';
comment on column source_run.payloads is 'answers received';
comment on column source_run.bytes is 'bytes of those answers';
comment on column source_run.listings is 'listings parsed';
comment on column source_run.offerings is 'offerings made';
comment on column source_run.rejects is 'listings rejected';
comment on column source_run.findings is 'quality findings';
comment on column source_run.seconds is 'seconds from first request to last';
comment on column source_run.last_good_night is 'night whose offerings are current for this source';
comment on column source_run.content_digest is 'digest of the offerings without the time of the fetch';
