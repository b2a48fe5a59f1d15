-- availability_history: availability as half-open intervals [from_date, to_date)
-- Grain: source_id, offering_id, from_date.
-- Units: none.
-- Reads: nothing. Read by: stock_interval.
create table availability_history (
    source_id varchar not null,
    offering_id varchar not null,
    from_date date not null,
    to_date date,
    availability varchar
);

comment on table availability_history is 'availability as half-open intervals [from_date, to_date)';
comment on column availability_history.source_id is 'source that was collected; a module in scrapers/providers';
comment on column availability_history.offering_id is 'first 16 hex digits of the sha256 of the identity';
comment on column availability_history.from_date is 'first night of the interval';
comment on column availability_history.to_date is 'first night after the interval; null is open';
comment on column availability_history.availability is 'in_stock, low, out_of_stock, listed_only or unknown';
