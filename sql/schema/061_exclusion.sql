-- exclusion: offers that cannot do the job of a tier, with one reason each
-- Grain: tier_id, offering_id.
-- Units: margin_ratio is a share.
-- Reads: nothing. Read by: best_by_tier, tier_exclusion, tier_exclusion_count.
create table exclusion (
    tier_id varchar not null,
    offering_id varchar not null,
    reason varchar,
    detail varchar,
    margin_ratio double,
    is_unknown boolean,
    is_near_miss boolean
);

comment on table exclusion is 'offers that cannot do the job of a tier, with one reason each';
comment on column exclusion.tier_id is 'workload tier';
comment on column exclusion.offering_id is 'first 16 hex digits of the sha256 of the identity';
comment on column exclusion.reason is 'short code of the reason';
comment on column exclusion.detail is 'values behind the reason';
comment on column exclusion.margin_ratio is 'how far the test was missed: 0.1 is 10 %';
comment on column exclusion.is_unknown is 'true when a missing fact, not a failed test, excludes the offer';
comment on column exclusion.is_near_miss is 'true for the few offers that fail one test by little';
