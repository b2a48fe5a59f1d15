-- price_history: prices as half-open intervals [from_date, to_date), one row per change
-- Grain: source_id, offering_id, from_date.
-- Units: price_listed as listed, price_usd in USD.
-- Reads: nothing. Read by: examples.
create table price_history (
    source_id varchar not null,
    offering_id varchar not null,
    from_date date not null,
    to_date date,
    price_listed decimal(24, 10),
    currency varchar,
    price_usd_per_gpu_hour decimal(18, 6),
    price_usd_per_instance_hour decimal(18, 6),
    price_state varchar
);

comment on table price_history is 'prices as half-open intervals [from_date, to_date), one row per change';
comment on column price_history.source_id is 'source that was collected; a module in scrapers/providers';
comment on column price_history.offering_id is 'first 16 hex digits of the sha256 of the identity';
comment on column price_history.from_date is 'first night of the interval';
comment on column price_history.to_date is 'first night after the interval; null is open';
comment on column price_history.price_listed is 'price as listed, in currency per price_per and price_unit';
comment on column price_history.currency is 'ISO 4217 code of the listed price';
comment on column price_history.price_usd_per_gpu_hour is 'USD per GPU and hour; null with a price_gap';
comment on column price_history.price_usd_per_instance_hour is 'USD per instance and hour; null with a price_gap';
comment on column price_history.price_state is 'priced, from_price, bid_floor, contact_sales or future';
