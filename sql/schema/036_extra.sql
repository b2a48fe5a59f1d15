-- extra: what providers bill beside machines: standard disks and traffic with the internet
-- Grain: source_id, part, place, kind. Of the newest night in which the source said so.
-- Units: as listed.
-- Reads: nothing. Read by: the night.
create table extra (
    night date not null,
    source_id varchar not null,
    part varchar,
    place varchar,
    provider varchar,
    kind varchar,
    name varchar,
    price varchar,
    currency varchar,
    per varchar,
    region_text varchar,
    from_gb double
);

comment on table extra is 'what providers bill beside machines: standard disks and traffic with the internet';
comment on column extra.night is 'logical date of the night, UTC';
comment on column extra.source_id is 'source that was collected; a module in scrapers/providers';
comment on column extra.part is 'name of the answer within the source';
comment on column extra.place is 'path of the row inside the answer';
comment on column extra.provider is 'provider id';
comment on column extra.kind is 'storage, egress or ingress';
comment on column extra.name is 'what is billed, as the source names it';
comment on column extra.price is 'price as listed, in currency per what per says';
comment on column extra.currency is 'ISO 4217 code of the listed price';
comment on column extra.per is 'gb_month, gib_month, gb_hour, gib_hour, gb or gib: what the listed price is for';
comment on column extra.region_text is 'region as the source wrote it; null holds everywhere';
comment on column extra.from_gb is 'where the step of a tiered price begins within a month, GB';
