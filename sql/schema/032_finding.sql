-- finding: what a person should look at
-- Grain: night, source_id, rule, subject.
-- Units: none.
-- Reads: nothing. Read by: command line.
create table finding (
    night date,
    source_id varchar,
    rule varchar,
    is_hard boolean,
    subject varchar,
    detail varchar
);

comment on table finding is 'what a person should look at';
comment on column finding.night is 'logical date of the night, UTC';
comment on column finding.source_id is 'source that was collected; a module in scrapers/providers';
comment on column finding.rule is 'finding rule';
comment on column finding.is_hard is 'a hard finding holds the source';
comment on column finding.subject is 'plan, GPU or count that the finding is about';
comment on column finding.detail is 'values behind the reason';
