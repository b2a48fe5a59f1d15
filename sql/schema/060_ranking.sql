-- ranking: offers that can do the job of a tier, in order
-- Grain: tier_id, offering_id.
-- Units: money in USD ex VAT, memory in GiB per GPU.
-- Reads: nothing. Read by: best_by_tier, tier_ranking, tier_sensitivity.
create table ranking (
    tier_id varchar not null,
    rank integer not null,
    offering_id varchar,
    objective varchar,
    objective_usd double,
    secondary_objective varchar,
    secondary_usd double,
    total_usd double,
    is_lower_bound boolean,
    compute_usd double,
    startup_usd double,
    storage_usd double,
    egress_usd double,
    interruption_usd double,
    commitment_usd double,
    billed_hours double,
    work_hours double,
    instances double,
    gpus_rented double,
    gpus_per_replica double,
    replicas double,
    verdict varchar,
    need_gib double,
    usable_gib double,
    load_ratio double,
    weights_gib double,
    state_gib double,
    activation_gib double,
    runtime_gib double,
    users_per_replica double,
    speed double,
    speed_low double,
    speed_high double,
    speed_unit varchar,
    ttft_ms double,
    certainty varchar,
    limiting_factor varchar,
    is_calibrated boolean,
    engine varchar,
    flags varchar[],
    is_headline boolean,
    would_lead_if varchar,
    tightest_constraint varchar,
    tightest_slack_ratio double,
    break_even_usd_per_instance_hour double,
    bill_state varchar,
    total_low_usd double,
    total_high_usd double,
    objective_low_usd double,
    objective_high_usd double,
    commitment_break_even_hours double,
    commitment_break_even_share double,
    checkpoint_advice_min double,
    is_spot_sensitive boolean,
    survives_slower boolean,
    survives_faster boolean,
    survives_loss boolean,
    time_weights_share double,
    time_cache_share double,
    time_compute_share double,
    time_link_share double,
    time_overhead_share double,
    time_prefill_share double
);

comment on table ranking is 'offers that can do the job of a tier, in order';
comment on column ranking.tier_id is 'workload tier';
comment on column ranking.rank is 'rank in the tier; 1 is held by the offer that leads, and stays empty where none may lead';
comment on column ranking.offering_id is 'first 16 hex digits of the sha256 of the identity';
comment on column ranking.objective is 'what the tier is ranked by';
comment on column ranking.objective_usd is 'value of the objective, USD';
comment on column ranking.secondary_objective is 'second unit of cost';
comment on column ranking.secondary_usd is 'value of the second unit, USD';
comment on column ranking.total_usd is 'whole bill, USD: a month for a demand, the job otherwise';
comment on column ranking.is_lower_bound is 'true when the storage or egress price is unknown: at least';
comment on column ranking.compute_usd is 'rent of the GPUs that do the work, USD';
comment on column ranking.startup_usd is 'rent while starting, USD';
comment on column ranking.storage_usd is 'storage, USD; null is unknown';
comment on column ranking.egress_usd is 'outgoing data, USD; null is unknown';
comment on column ranking.interruption_usd is 'work lost to interruptions, USD';
comment on column ranking.commitment_usd is 'part of a commitment that the job does not use, USD';
comment on column ranking.billed_hours is 'billed hours of one instance';
comment on column ranking.work_hours is 'hours of useful work of one instance';
comment on column ranking.instances is 'instances rented';
comment on column ranking.gpus_rented is 'GPUs rented';
comment on column ranking.gpus_per_replica is 'GPUs that hold one copy of the model';
comment on column ranking.replicas is 'copies of the model';
comment on column ranking.verdict is 'fits, tight, loads_but_cannot_serve, does_not_fit, unsupported_precision or unknown';
comment on column ranking.need_gib is 'memory needed on each GPU, GiB';
comment on column ranking.usable_gib is 'memory usable on each GPU, GiB';
comment on column ranking.load_ratio is 'need_gib / usable_gib';
comment on column ranking.weights_gib is 'weights on each GPU, GiB';
comment on column ranking.state_gib is 'cache, or optimizer states and gradients, on each GPU, GiB';
comment on column ranking.activation_gib is 'activations on each GPU, GiB';
comment on column ranking.runtime_gib is 'runtime of the engine on each GPU, GiB';
comment on column ranking.users_per_replica is 'people that one copy serves at the floor speed';
comment on column ranking.speed is 'predicted speed in speed_unit';
comment on column ranking.speed_low is 'low end of the 80 % band';
comment on column ranking.speed_high is 'high end of the 80 % band';
comment on column ranking.speed_unit is 'unit of speed';
comment on column ranking.ttft_ms is 'time to the first token without queueing, ms';
comment on column ranking.certainty is 'certain: the low end of the band meets the floor; likely: only the point does';
comment on column ranking.limiting_factor is 'bandwidth, compute, link, overhead or cache_capacity';
comment on column ranking.is_calibrated is 'true when this GPU family was measured for this kind of work';
comment on column ranking.engine is 'software that the prediction assumes';
comment on column ranking.flags is 'what differs from a plain run, such as weight_only';
comment on column ranking.is_headline is 'true for the offer that leads the tier';
comment on column ranking.would_lead_if is 'the one thing that keeps a cheaper offer from leading';
comment on column ranking.tightest_constraint is 'the constraint with the least slack';
comment on column ranking.tightest_slack_ratio is 'slack of that constraint: 0.24 is 24 % above the floor';
comment on column ranking.break_even_usd_per_instance_hour is 'hourly price below which the offer is first';
comment on column ranking.bill_state is 'exact, bounded (a fact of the bill is missing) or partial (without a total)';
comment on column ranking.total_low_usd is 'whole bill with what is missing read in favour of the offer, USD';
comment on column ranking.total_high_usd is 'whole bill with what is missing read against the offer, USD';
comment on column ranking.objective_low_usd is 'value of the objective at the high end of the speed band, USD';
comment on column ranking.objective_high_usd is 'value of the objective at the low end of the speed band, USD; null where that end does not carry the job';
comment on column ranking.commitment_break_even_hours is 'hours of its term that must be used for a reservation to cost what the same hardware costs by the hour';
comment on column ranking.commitment_break_even_share is 'the same as a share of the term; above 1 the reservation never pays';
comment on column ranking.checkpoint_advice_min is 'interval between checkpoints that loses least on a spot machine, minutes';
comment on column ranking.is_spot_sensitive is 'true where the place of a spot machine changes within the losses that are assumed, 0.02 to 0.5 per hour';
comment on column ranking.survives_slower is 'place 1 only: true when the same GPU leads with all speeds at 0.8';
comment on column ranking.survives_faster is 'place 1 only: true when the same GPU leads with all speeds at 1.25';
comment on column ranking.survives_loss is 'place 1 only: true when the same GPU leads without this offer';
comment on column ranking.time_weights_share is 'share of the time that reading the weights takes; the six shares sum to 1 and are null where the time is not told apart';
comment on column ranking.time_cache_share is 'share of the time that reading the cache takes';
comment on column ranking.time_compute_share is 'share of the time that computing takes';
comment on column ranking.time_link_share is 'share of the time that data between GPUs takes';
comment on column ranking.time_overhead_share is 'share of the time that overhead takes';
comment on column ranking.time_prefill_share is 'share of the time that reading the input takes';
