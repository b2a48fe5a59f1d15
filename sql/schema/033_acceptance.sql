-- acceptance: held sources that a person released
-- Grain: night, source_id.
-- Units: none.
-- Reads: nothing. Read by: command line.
create table acceptance (
    night date not null,
    source_id varchar not null,
    accepted_at timestamptz,
    reason varchar,
    findings varchar[]
);

comment on table acceptance is 'held sources that a person released';
comment on column acceptance.night is 'logical date of the night whose offerings were released, UTC';
comment on column acceptance.source_id is 'source that was released; a module in scrapers/providers';
comment on column acceptance.accepted_at is 'when it was released, UTC';
comment on column acceptance.reason is 'why, in the words of the person who released it';
comment on column acceptance.findings is 'hard findings that were released, each as rule, subject and detail';
