-- source: what is known of each source, and of each provider that none of them asks
-- Grain: source_id.
-- Units: none.
-- Reads: nothing. Read by: current_offering, price_of_two_sources, source_health, the night.
create table source (
    source_id varchar not null,
    kind varchar,
    basis varchar,
    provider varchar,
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

comment on table source is 'what is known of each source, and of each provider that none of them asks';
comment on column source.source_id is 'source that was collected; a module in scrapers/providers';
comment on column source.kind is 'module: it is asked; bundled: a provider of our bundled list that no module asks; none: a provider without a price that could be read';
comment on column source.basis is 'who says it: own (the provider itself), mirror, catalog or bundled; null where nobody is asked';
comment on column source.provider is 'provider whose offers it lists; null for a source of many';
comment on column source.name is 'name for people';
comment on column source.segment is 'hyperscaler, neocloud, marketplace, peer_host, serverless, reseller or bare_metal';
comment on column source.homepage is 'home page';
comment on column source.pricing_url is 'page with the prices';
comment on column source.terms is 'open, restricted or unknown';
comment on column source.terms_url is 'where the terms stand';
comment on column source.terms_note is 'what the terms say of automated access';
comment on column source.is_on is 'whether it is collected';
comment on column source.off_reason is 'why it is off, or why there is nothing to ask';
comment on column source.auth_env is 'environment variable that holds the key; null when none is needed';
