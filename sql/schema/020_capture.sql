-- capture: answers behind the current offerings; the bytes lie in the captures folder
-- Grain: source_id, part.
-- Units: bytes in bytes.
-- Reads: nothing. Read by: provenance of an offering.
create table capture (
    source_id varchar not null,
    part varchar not null,
    night date,
    url varchar,
    status integer,
    content_type varchar,
    bytes bigint,
    capture_sha256 varchar,
    fetched_at timestamptz
);

comment on table capture is 'answers behind the current offerings; the bytes lie in the captures folder';
comment on column capture.source_id is 'source that was collected; a module in scrapers/providers';
comment on column capture.part is 'name of the answer within the source';
comment on column capture.night is 'logical date of the night, UTC';
comment on column capture.url is 'address asked';
comment on column capture.status is 'HTTP status';
comment on column capture.content_type is 'type that the server stated';
comment on column capture.bytes is 'bytes of the body';
comment on column capture.capture_sha256 is 'sha256 of the stored answer';
comment on column capture.fetched_at is 'when the answer was fetched, UTC';
