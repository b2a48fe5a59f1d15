-- source: what is known of each source
-- Grain: source_id.
-- Units: none.
-- Reads: nothing. Read by: source_health.
create table source (
    source_id varchar not null,
    name varchar,
    segment varchar,
    homepage varchar,
    pricing_url varchar,
    terms varchar,
    terms_url varchar,
    terms_note varchar,
    is_on boolean,
    off_reason varchar,
    auth_env varchar
);

comment on table source is 'what is known of each source';
comment on column source.source_id is 'source that was collected; a module in scrapers/providers';
comment on column source.name is 'name for people';
comment on column source.segment is 'hyperscaler, neocloud, marketplace, peer_host, serverless, reseller or bare_metal';
comment on column source.homepage is 'home page';
comment on column source.pricing_url is 'page with the prices';
comment on column source.terms is 'open, restricted or unknown';
comment on column source.terms_url is 'where the terms stand';
comment on column source.terms_note is 'what the terms say of automated access';
comment on column source.is_on is 'whether it is collected';
comment on column source.off_reason is 'why it is off';
comment on column source.auth_env is 'environment variable that holds the key; null when none is needed';
