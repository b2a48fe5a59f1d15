-- offering_hardware: the hardware of each current offer, as the table fit names it.
-- Grain: offering_id.
-- Units: none.
-- Reads: nothing. Read by: offer_fit.
create table offering_hardware (
    offering_id varchar not null,
    hardware_id varchar not null
);

comment on table offering_hardware is 'the hardware of each current offer, as the table fit names it';
comment on column offering_hardware.offering_id is 'first 16 hex digits of the sha256 of the identity';
comment on column offering_hardware.hardware_id is 'GPU candidates, count, link, fabric and memory of a slice';
