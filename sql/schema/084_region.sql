-- region: spellings of regions
-- Grain: provider, region_text.
-- Units: degrees.
-- Reads: nothing. Read by: users.
create table region (
    provider varchar not null,
    region_text varchar not null,
    region_key varchar,
    city varchar,
    admin_area varchar,
    country_iso2 varchar,
    continent varchar,
    is_eu_member boolean,
    is_eea boolean,
    lat double,
    lon double,
    kind varchar,
    opt_in_or_restricted varchar,
    source varchar,
    notes varchar,
    retrieved_on varchar
);

comment on table region is 'spellings of regions';
comment on column region.provider is 'provider id; * for any';
comment on column region.region_text is 'region as a provider writes it';
comment on column region.region_key is 'our key of the place';
comment on column region.city is 'city';
comment on column region.admin_area is 'state or province';
comment on column region.country_iso2 is 'ISO 3166-1 alpha-2 code';
comment on column region.continent is 'AF, AS, EU, NA, OC or SA';
comment on column region.is_eu_member is 'member of the European Union';
comment on column region.is_eea is 'member of the European Economic Area';
comment on column region.lat is 'latitude, degrees';
comment on column region.lon is 'longitude, degrees';
comment on column region.kind is 'region, country, local_zone, zone, continent, global or unknown';
comment on column region.opt_in_or_restricted is 'whether the region needs an opt-in';
comment on column region.source is 'where the fact stands';
comment on column region.notes is 'what a reader should know';
comment on column region.retrieved_on is 'day on which the fact was taken';
