-- offering: offerings of each source on its last good night
-- Grain: source_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB.
-- Reads: nothing. Read by: current_offering, price_of_two_sources, source_coverage, source_health, unmapped_gpu.
create table offering (
    night date,
    offering_id varchar not null,
    source_id varchar not null,
    provider varchar,
    product varchar,
    segment varchar,
    origin varchar,
    plan varchar,
    region_text varchar,
    region_key varchar,
    country varchar,
    continent varchar,
    is_eu boolean,
    zone_text varchar,
    purchase varchar,
    term_months integer,
    gpu_text varchar,
    gpu_key varchar,
    gpu_candidates varchar[],
    gpu_count double,
    vram_gib double,
    form_factor_text varchar,
    link varchar,
    fabric_gbps double,
    vcpus double,
    ram_gib double,
    disk_gb double,
    price_state varchar,
    price_listed decimal(24, 10),
    currency varchar,
    price_per varchar,
    price_unit varchar,
    upfront_listed decimal(24, 10),
    regular_price_listed decimal(24, 10),
    price_usd_per_gpu_hour decimal(18, 6),
    price_usd_per_instance_hour decimal(18, 6),
    upfront_usd decimal(18, 6),
    usd_per_currency double,
    fx_date date,
    price_gap varchar,
    valid_from date,
    billing_increment_s integer,
    billing_minimum_s integer,
    storage_usd_per_gb_month double,
    egress_usd_per_gb double,
    egress_free_gb_per_month double,
    ingress_usd_per_gb double,
    storage_source varchar,
    egress_source varchar,
    is_startup_billed boolean,
    monthly_cap_hours double,
    spot_notice_s double,
    interruptions_per_hour double,
    interruption_source varchar,
    availability varchar,
    availability_text varchar,
    available_count bigint,
    evidence varchar,
    price_date date,
    fetched_at timestamptz,
    source_url varchar,
    capture_sha256 varchar,
    part varchar,
    place varchar,
    note varchar
);

comment on table offering is 'offerings of each source on its last good night';
comment on column offering.night is 'logical date of the night, UTC';
comment on column offering.offering_id is 'first 16 hex digits of the sha256 of the identity';
comment on column offering.source_id is 'source that was collected; a module in scrapers/providers';
comment on column offering.provider is 'provider id';
comment on column offering.product is 'product of the provider with its own billing rules';
comment on column offering.segment is 'hyperscaler, neocloud, marketplace, peer_host, serverless, reseller or bare_metal';
comment on column offering.origin is 'cloud that a reseller sells';
comment on column offering.plan is 'instance type or plan as the provider names it';
comment on column offering.region_text is 'region as the source wrote it';
comment on column offering.region_key is 'our key of the place; null is unknown';
comment on column offering.country is 'ISO 3166-1 alpha-2 code';
comment on column offering.continent is 'AF, AS, EU, NA, OC or SA';
comment on column offering.is_eu is 'true in a member state of the European Union';
comment on column offering.zone_text is 'zone as the source wrote it';
comment on column offering.purchase is 'on_demand, spot or reserved';
comment on column offering.term_months is 'length of a commitment, months';
comment on column offering.gpu_text is 'GPU name as the source wrote it, or the plan where it names no GPU';
comment on column offering.gpu_key is 'our key of the GPU; null when unmapped or ambiguous';
comment on column offering.gpu_candidates is 'every GPU that the name can mean; several when ambiguous, none when unmapped';
comment on column offering.gpu_count is 'GPUs in the offering; 0.5 is half a GPU';
comment on column offering.vram_gib is 'memory of one GPU as sold, GiB';
comment on column offering.form_factor_text is 'form factor as listed';
comment on column offering.link is 'link between the GPUs of the instance: nvlink, xgmi, pcie, none (one GPU) or unknown';
comment on column offering.fabric_gbps is 'network between nodes, Gb/s per node; null when not stated';
comment on column offering.vcpus is 'virtual CPUs of the instance';
comment on column offering.ram_gib is 'memory of the host, GiB';
comment on column offering.disk_gb is 'local disk, GB';
comment on column offering.price_state is 'priced, from_price, bid_floor, contact_sales or future';
comment on column offering.price_listed is 'price as listed, in currency per price_per and price_unit';
comment on column offering.currency is 'ISO 4217 code of the listed price';
comment on column offering.price_per is 'gpu or instance: what the listed price is for';
comment on column offering.price_unit is 'second, minute, hour, day, month, year or term: the time that the listed price is for';
comment on column offering.upfront_listed is 'one-time payment as listed, in currency';
comment on column offering.regular_price_listed is 'crossed-out price beside a promotion, per the same as the listed price';
comment on column offering.price_usd_per_gpu_hour is 'USD per GPU and hour; null with a price_gap';
comment on column offering.price_usd_per_instance_hour is 'USD per instance and hour; null with a price_gap';
comment on column offering.upfront_usd is 'one-time payment of a reservation, USD';
comment on column offering.usd_per_currency is 'USD for one unit of currency';
comment on column offering.fx_date is 'day of the exchange rate';
comment on column offering.price_gap is 'why there is no USD price';
comment on column offering.valid_from is 'first day of a price that is announced';
comment on column offering.billing_increment_s is 'billed step, seconds; null is unknown';
comment on column offering.billing_minimum_s is 'least billed time per start, seconds; null is unknown';
comment on column offering.storage_usd_per_gb_month is 'USD per GB and month; null is unknown';
comment on column offering.egress_usd_per_gb is 'USD per GB of outgoing data; null is unknown';
comment on column offering.egress_free_gb_per_month is 'GB of outgoing data free each month';
comment on column offering.ingress_usd_per_gb is 'USD per GB of incoming data; null is unknown';
comment on column offering.storage_source is 'who says what storage costs: offer, provider (beside its offers), or our facts with their day';
comment on column offering.egress_source is 'who says what outgoing data costs: offer, provider (beside its offers), or our facts with their day';
comment on column offering.is_startup_billed is 'whether provisioning and start-up are billed; null is unknown';
comment on column offering.monthly_cap_hours is 'hours after which a month costs no more';
comment on column offering.spot_notice_s is 'seconds between notice and loss of a spot machine';
comment on column offering.interruptions_per_hour is 'losses per hour of a spot machine, high end of what is stated';
comment on column offering.interruption_source is 'where the loss rate comes from';
comment on column offering.availability is 'in_stock, low, out_of_stock, listed_only or unknown';
comment on column offering.availability_text is 'evidence for the availability, as the source wrote it';
comment on column offering.available_count is 'machines or GPUs that the source counts as free';
comment on column offering.evidence is 'live, mirror, derived, machine_collected, page_html, page_transcription, provider_docs or second_hand';
comment on column offering.price_date is 'day on which the price was true';
comment on column offering.fetched_at is 'when the answer was fetched, UTC';
comment on column offering.source_url is 'page or endpoint where the price stands';
comment on column offering.capture_sha256 is 'sha256 of the stored answer';
comment on column offering.part is 'name of the answer within the source';
comment on column offering.place is 'path of the row inside the answer';
comment on column offering.note is 'what a reader should know of the row';
