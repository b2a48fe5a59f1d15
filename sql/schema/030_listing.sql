-- listing: what each source said on its last good night, unconverted
-- Grain: source_id, part, place (several ways to buy can share a place).
-- Units: as listed.
-- Reads: nothing. Read by: source_coverage, unmapped_gpu.
create table listing (
    night date,
    source_id varchar,
    part varchar,
    place varchar,
    capture_sha256 varchar,
    fetched_at timestamptz,
    provider varchar,
    product varchar,
    segment varchar,
    plan varchar,
    gpu_text varchar,
    gpu_count varchar,
    gpu_memory varchar,
    gpu_memory_unit varchar,
    gpu_memory_is_total boolean,
    form_factor_text varchar,
    link_text varchar,
    fabric_text varchar,
    vcpus varchar,
    ram varchar,
    ram_unit varchar,
    disk varchar,
    disk_unit varchar,
    price varchar,
    currency varchar,
    price_per varchar,
    price_unit varchar,
    price_state varchar,
    purchase varchar,
    term_months integer,
    upfront varchar,
    regular_price varchar,
    region_text varchar,
    zone_text varchar,
    availability varchar,
    availability_text varchar,
    available_count bigint,
    valid_from date,
    billing_increment_s integer,
    billing_minimum_s integer,
    storage_price_per_gb_month varchar,
    egress_price_per_gb varchar,
    ingress_price_per_gb varchar,
    evidence varchar,
    as_of date,
    source_url varchar,
    origin varchar,
    note varchar
);

comment on table listing is 'what each source said on its last good night, unconverted';
comment on column listing.night is 'logical date of the night, UTC';
comment on column listing.source_id is 'source that was collected; a module in scrapers/providers';
comment on column listing.part is 'name of the answer within the source';
comment on column listing.place is 'path of the row inside the answer';
comment on column listing.capture_sha256 is 'sha256 of the stored answer';
comment on column listing.fetched_at is 'when the answer was fetched, UTC';
comment on column listing.provider is 'provider id';
comment on column listing.product is 'product of the provider with its own billing rules';
comment on column listing.segment is 'hyperscaler, neocloud, marketplace, peer_host, serverless, reseller or bare_metal';
comment on column listing.plan is 'instance type or plan as the provider names it';
comment on column listing.gpu_text is 'GPU name as the source wrote it, or the plan where it names no GPU';
comment on column listing.gpu_count is 'GPUs in the offering; 0.5 is half a GPU';
comment on column listing.gpu_memory is 'memory of a GPU as listed, in gpu_memory_unit';
comment on column listing.gpu_memory_unit is 'unit of gpu_memory';
comment on column listing.gpu_memory_is_total is 'true when gpu_memory is of all GPUs together';
comment on column listing.form_factor_text is 'form factor as listed';
comment on column listing.link_text is 'link between the GPUs as listed';
comment on column listing.fabric_text is 'network between nodes as listed';
comment on column listing.vcpus is 'virtual CPUs of the instance';
comment on column listing.ram is 'memory of the host as listed, in ram_unit';
comment on column listing.ram_unit is 'unit of ram';
comment on column listing.disk is 'local disk as listed, in disk_unit';
comment on column listing.disk_unit is 'unit of disk';
comment on column listing.price is 'price as listed, in currency per price_per and price_unit';
comment on column listing.currency is 'ISO 4217 code of the listed price';
comment on column listing.price_per is 'gpu or instance: what the listed price is for';
comment on column listing.price_unit is 'second, minute, hour, day, month, year or term: the time that the listed price is for';
comment on column listing.price_state is 'priced, from_price, bid_floor, contact_sales or future';
comment on column listing.purchase is 'on_demand, spot or reserved';
comment on column listing.term_months is 'length of a commitment, months';
comment on column listing.upfront is 'one-time payment of a reservation as listed';
comment on column listing.regular_price is 'crossed-out price beside a promotion, per the same as the listed price';
comment on column listing.region_text is 'region as the source wrote it';
comment on column listing.zone_text is 'zone as the source wrote it';
comment on column listing.availability is 'in_stock, low, out_of_stock, listed_only or unknown';
comment on column listing.availability_text is 'evidence for the availability, as the source wrote it';
comment on column listing.available_count is 'machines or GPUs that the source counts as free';
comment on column listing.valid_from is 'first day of a price that is announced';
comment on column listing.billing_increment_s is 'billed step, seconds; null is unknown';
comment on column listing.billing_minimum_s is 'least billed time per start, seconds; null is unknown';
comment on column listing.storage_price_per_gb_month is 'storage price as listed, in currency per GB-month';
comment on column listing.egress_price_per_gb is 'outgoing data as listed, in currency per GB';
comment on column listing.ingress_price_per_gb is 'incoming data as listed, in currency per GB';
comment on column listing.evidence is 'live, mirror, derived, machine_collected, page_html, page_transcription, provider_docs or second_hand';
comment on column listing.as_of is 'day that the source itself states for the price';
comment on column listing.source_url is 'page or endpoint where the price stands';
comment on column listing.origin is 'cloud that a reseller sells';
comment on column listing.note is 'what a reader should know of the row';
