-- reject: listings of the last good night that could not become offerings, with the reason
-- Grain: source_id, part, place.
-- Units: as listed.
-- Reads: nothing. Read by: users.
create table reject (
    night date,
    source_id varchar,
    part varchar,
    place varchar,
    capture_sha256 varchar,
    provider varchar,
    plan varchar,
    gpu_text varchar,
    price varchar,
    currency varchar,
    reason varchar,
    detail varchar
);

comment on table reject is 'listings of the last good night that could not become offerings, with the reason';
comment on column reject.night is 'logical date of the night, UTC';
comment on column reject.source_id is 'source that was collected; a module in scrapers/providers';
comment on column reject.part is 'name of the answer within the source';
comment on column reject.place is 'path of the row inside the answer';
comment on column reject.capture_sha256 is 'sha256 of the stored answer';
comment on column reject.provider is 'provider id';
comment on column reject.plan is 'instance type or plan as the provider names it';
comment on column reject.gpu_text is 'GPU name as the source wrote it, or the plan where it names no GPU';
comment on column reject.price is 'price as listed, in currency per price_per and price_unit';
comment on column reject.currency is 'ISO 4217 code of the listed price';
comment on column reject.reason is 'short code of the reason';
comment on column reject.detail is 'values behind the reason';
