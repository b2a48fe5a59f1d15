-- runner_up: what the next offer that may lead a tier costs more than the one that leads, by cause.
-- Grain: tier_id.
-- Units: USD of the whole bill; a cause is null where one of the two bills does not state it.
-- Reads: tier_ranking. Read by: page, command line.
create or replace view runner_up as
with priced as (
    select
        *,
        cast(price_usd_per_instance_hour as double) / gpu_count as usd_per_gpu_hour,
        compute_usd / (cast(price_usd_per_instance_hour as double) / gpu_count * gpus_rented) as paid_hours
    from tier_ranking
),
winner as (
    select * from priced where is_headline
),
following as (
    select priced.*
    from priced
    join winner using (tier_id)
    where not priced.is_headline and priced.would_lead_if is null
    qualify row_number() over (
        partition by priced.tier_id
        order by priced.break_even_usd_per_instance_hour is null, priced.rank
    ) = 1
)
-- The rent is price x GPUs x hours; the three are exchanged one after the other, so that they add up.
select
    winner.tier_id,
    winner.offering_id as winner_offering_id,
    following.offering_id,
    following.provider_name,
    following.plan,
    following.gpu_name,
    following.gpu_count,
    following.instances,
    following.gpus_rented,
    following.total_usd,
    following.break_even_usd_per_instance_hour,
    following.total_usd - winner.total_usd as more_usd,
    (following.usd_per_gpu_hour - winner.usd_per_gpu_hour) * winner.gpus_rented * winner.paid_hours as more_by_price_usd,
    following.usd_per_gpu_hour * (following.gpus_rented - winner.gpus_rented) * winner.paid_hours as more_by_gpus_usd,
    following.usd_per_gpu_hour * following.gpus_rented * (following.paid_hours - winner.paid_hours) as more_by_hours_usd,
    following.startup_usd - winner.startup_usd as more_by_startup_usd,
    following.storage_usd - winner.storage_usd as more_by_storage_usd,
    following.egress_usd - winner.egress_usd as more_by_egress_usd,
    following.interruption_usd - winner.interruption_usd as more_by_interruption_usd,
    following.commitment_usd - winner.commitment_usd as more_by_commitment_usd
from winner
join following using (tier_id)
order by winner.tier_id;

comment on view runner_up is 'what the next offer that may lead a tier costs more than the one that leads, by cause';
comment on column runner_up.winner_offering_id is 'offering_id of the offer that leads';
comment on column runner_up.more_usd is 'difference of the whole bills, USD';
comment on column runner_up.more_by_price_usd is 'part of the difference: price of a GPU-hour, USD';
comment on column runner_up.more_by_gpus_usd is 'part of the difference: number of GPUs, USD';
comment on column runner_up.more_by_hours_usd is 'part of the difference: paid hours, from speed and rounding, USD';
comment on column runner_up.more_by_startup_usd is 'part of the difference: start-up, USD';
comment on column runner_up.more_by_storage_usd is 'part of the difference: storage, USD';
comment on column runner_up.more_by_egress_usd is 'part of the difference: outgoing data, USD';
comment on column runner_up.more_by_interruption_usd is 'part of the difference: work lost to interruptions, USD';
comment on column runner_up.more_by_commitment_usd is 'part of the difference: commitment that the job does not use, USD';
