-- release: the night that this file shows
-- Grain: night.
-- Units: counts.
-- Reads: nothing. Read by: the page.
create table release (
    night date not null,
    created_at timestamptz,
    version varchar,
    has_live_price boolean,
    offers integer,
    providers integer,
    tiers integer
);

comment on table release is 'the night that this file shows';
comment on column release.night is 'logical date of the night, UTC';
comment on column release.created_at is 'when it was published, UTC';
comment on column release.version is 'version of GPU Almanac';
comment on column release.has_live_price is 'false when every price is a bundled list price';
comment on column release.offers is 'current offerings';
comment on column release.providers is 'providers with a current offering';
comment on column release.tiers is 'tiers with a ranking';
