-- provider_term: billing and terms of providers by product
-- Grain: provider, product.
-- Units: USD ex VAT.
-- Reads: nothing. Read by: current_offering.
create table provider_term (
    provider varchar not null,
    product varchar not null,
    name varchar,
    segment varchar,
    hq_country varchar,
    homepage varchar,
    pricing_url varchar,
    status_page varchar,
    billing_increment_s double,
    billing_minimum_s bigint,
    billed_while_stopped varchar,
    startup_billed varchar,
    monthly_cap_hours bigint,
    storage_usd_per_gb_month double,
    object_storage_usd_per_gb_month double,
    egress_usd_per_gb_first_tier double,
    egress_free_gb_per_month bigint,
    egress_note varchar,
    ingress_fee varchar,
    spot_offered varchar,
    spot_notice_s bigint,
    spot_discount_rule varchar,
    reserved_terms_months varchar,
    reserved_discount_note varchar,
    commitment_note varchar,
    min_gpus double,
    multi_node_fabric varchar,
    nvlink_note varchar,
    sla_uptime_pct double,
    account_needed_for_prices varchar,
    api_key_env varchar,
    terms_automated_access varchar,
    terms_url varchar,
    terms_note varchar,
    robots_note varchar,
    vat_in_prices varchar,
    listing_currency varchar,
    tax_note varchar,
    source varchar,
    source_groups varchar,
    as_of varchar,
    confidence varchar,
    notes varchar,
    retrieved_on varchar
);

comment on table provider_term is 'billing and terms of providers by product';
comment on column provider_term.provider is 'provider id';
comment on column provider_term.product is 'product with its own billing rules';
comment on column provider_term.name is 'name for people';
comment on column provider_term.segment is 'hyperscaler, neocloud, marketplace, peer_host, serverless, reseller or bare_metal';
comment on column provider_term.hq_country is 'country of the head office';
comment on column provider_term.homepage is 'home page';
comment on column provider_term.pricing_url is 'page with the prices';
comment on column provider_term.status_page is 'status page';
comment on column provider_term.billing_increment_s is 'billed step, s';
comment on column provider_term.billing_minimum_s is 'least billed time per start, s';
comment on column provider_term.billed_while_stopped is 'whether a stopped machine costs money';
comment on column provider_term.startup_billed is 'whether start-up is billed';
comment on column provider_term.monthly_cap_hours is 'hours after which a month costs no more';
comment on column provider_term.storage_usd_per_gb_month is 'block storage, USD per GB-month';
comment on column provider_term.object_storage_usd_per_gb_month is 'object storage, USD per GB-month';
comment on column provider_term.egress_usd_per_gb_first_tier is 'outgoing data, first tier, USD per GB';
comment on column provider_term.egress_free_gb_per_month is 'outgoing data free each month, GB';
comment on column provider_term.egress_note is 'further tiers';
comment on column provider_term.ingress_fee is 'price of incoming data';
comment on column provider_term.spot_offered is 'whether there is a spot market';
comment on column provider_term.spot_notice_s is 'notice before a spot machine is lost, s';
comment on column provider_term.spot_discount_rule is 'how the spot price is made';
comment on column provider_term.reserved_terms_months is 'lengths of commitments, months';
comment on column provider_term.reserved_discount_note is 'discount for commitments';
comment on column provider_term.commitment_note is 'rules of commitments';
comment on column provider_term.min_gpus is 'fewest GPUs that can be rented';
comment on column provider_term.multi_node_fabric is 'network between nodes';
comment on column provider_term.nvlink_note is 'which plans have NVLink';
comment on column provider_term.sla_uptime_pct is 'promised uptime of one instance, %';
comment on column provider_term.account_needed_for_prices is 'whether prices need an account';
comment on column provider_term.api_key_env is 'environment variable of the key';
comment on column provider_term.terms_automated_access is 'open, restricted or unknown';
comment on column provider_term.terms_url is 'where the terms stand';
comment on column provider_term.terms_note is 'what the terms say of automated access';
comment on column provider_term.robots_note is 'what robots.txt says';
comment on column provider_term.vat_in_prices is 'whether prices hold VAT';
comment on column provider_term.listing_currency is 'currency of the list';
comment on column provider_term.tax_note is 'tax rules';
comment on column provider_term.source is 'where the fact stands';
comment on column provider_term.source_groups is 'groups of the sources';
comment on column provider_term.as_of is 'day that the fact is true for';
comment on column provider_term.confidence is 'high, medium or low';
comment on column provider_term.notes is 'what a reader should know';
comment on column provider_term.retrieved_on is 'day on which the fact was taken';
