-- fx_rate: exchange rates with the day of the fixing
-- Grain: base, quote, rate_date.
-- Units: units of quote per unit of base.
-- Reads: nothing. Read by: normalising.
create table fx_rate (
    base varchar not null,
    quote varchar not null,
    rate_date date not null,
    rate double,
    source_id varchar
);

comment on table fx_rate is 'exchange rates with the day of the fixing';
comment on column fx_rate.base is 'ISO 4217 code';
comment on column fx_rate.quote is 'ISO 4217 code';
comment on column fx_rate.rate_date is 'day of the fixing';
comment on column fx_rate.rate is 'units of quote for one unit of base';
comment on column fx_rate.source_id is 'source that was collected; a module in scrapers/providers';
