-- market: what each provider asked for one GPU before a night was loaded; its prices are held against this
-- Grain: night, source_id, provider, segment, gpu_key, purchase. Of the newest night only.
-- Units: USD ex VAT per GPU and hour.
-- Reads: nothing. Read by: the night.
create table market (
    night date not null,
    source_id varchar not null,
    provider varchar,
    segment varchar,
    gpu_key varchar,
    purchase varchar,
    usd_per_gpu_hour double
);

comment on table market is 'what each provider asked for one GPU before a night was loaded; its prices are held against this';
comment on column market.night is 'logical date of the night that is held against it, UTC';
comment on column market.source_id is 'source of the prices';
comment on column market.provider is 'provider id';
comment on column market.segment is 'hyperscaler, neocloud, marketplace, peer_host, serverless, reseller or bare_metal';
comment on column market.gpu_key is 'our key of the GPU';
comment on column market.purchase is 'on_demand, spot or reserved';
comment on column market.usd_per_gpu_hour is 'median of the prices, USD per GPU and hour';
