-- assumption: what is assumed where nobody states it, with its source.
-- Grain: assumption_id.
-- Units: in the column unit.
-- Reads: nothing. Read by: current_offering.
create table assumption (
    assumption_id varchar not null,
    value double,
    unit varchar,
    low double,
    high double,
    source varchar,
    as_of date,
    note varchar
);

comment on table assumption is 'what is assumed where nobody states it, with its source';
comment on column assumption.assumption_id is 'name of the assumption';
comment on column assumption.value is 'value in the column unit';
comment on column assumption.unit is 'unit of value, low and high';
comment on column assumption.low is 'low end of what is plausible';
comment on column assumption.high is 'high end of what is plausible';
comment on column assumption.source is 'where the fact stands';
comment on column assumption.as_of is 'day that the fact is true for';
comment on column assumption.note is 'what a reader should know of the row';
