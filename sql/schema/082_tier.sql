-- tier: workload tiers: a job each
-- Grain: tier_id.
-- Units: in each name.
-- Reads: nothing. Read by: best_by_tier, page, command line.
create table tier (
    tier_id varchar not null,
    group_name varchar,
    title_en varchar,
    kind varchar,
    task varchar,
    model_id varchar,
    weight_precision varchar,
    kv_precision varchar,
    is_kv_fixed boolean,
    input_tokens double,
    output_tokens double,
    cached_input_share double,
    context_tokens double,
    concurrent_users double,
    max_sequences double,
    min_tokens_per_s_per_user double,
    max_ttft_ms double,
    max_latency_s double,
    min_stream_rtf double,
    width_px double,
    height_px double,
    frames double,
    clip_seconds double,
    steps double,
    guidance_passes double,
    batch double,
    audio_hours double,
    work_quantity double,
    work_unit varchar,
    train_tokens double,
    train_samples double,
    seq_len double,
    micro_batch double,
    global_batch_tokens double,
    lora_rank double,
    lora_targets varchar,
    optimizer varchar,
    recompute varchar,
    assumed_peak_gib double,
    is_peak_fixed boolean,
    max_gpus double,
    allow_multi_node boolean,
    required_fabric varchar,
    hosts_allowed varchar,
    purchase_kinds varchar[],
    worst_verdict_allowed varchar,
    checkpoint_interval_min double,
    sessions_per_month double,
    session_minutes double,
    hours_per_month double,
    mean_load double,
    start_minutes double,
    deadline_hours double,
    storage_gb double,
    egress_gb_per_month double,
    objective varchar,
    secondary_objective varchar,
    region varchar,
    max_billing_increment_s double
);

comment on table tier is 'workload tiers: a job each';
comment on column tier.tier_id is 'workload tier';
comment on column tier.group_name is 'group of tiers';
comment on column tier.title_en is 'title in English';
comment on column tier.kind is 'demand: users and a floor speed; job: a quantity and a deadline';
comment on column tier.task is 'kind of work';
comment on column tier.model_id is 'our key of the model';
comment on column tier.weight_precision is 'format of the weights';
comment on column tier.kv_precision is 'format of the cache';
comment on column tier.is_kv_fixed is 'true where the format of the cache is a wish that no GPU may change';
comment on column tier.input_tokens is 'mean tokens in per request';
comment on column tier.output_tokens is 'mean tokens out per request';
comment on column tier.cached_input_share is 'share of the input that a prefix cache serves';
comment on column tier.context_tokens is 'tokens held per sequence';
comment on column tier.concurrent_users is 'people at once, or fewest sequences in flight';
comment on column tier.max_sequences is 'most sequences in flight per copy';
comment on column tier.min_tokens_per_s_per_user is 'floor speed, tokens per second for each person';
comment on column tier.max_ttft_ms is 'limit for the first token, ms';
comment on column tier.max_latency_s is 'limit for one picture or clip, s';
comment on column tier.min_stream_rtf is 'audio seconds per second that each stream must get';
comment on column tier.width_px is 'width, pixels';
comment on column tier.height_px is 'height, pixels';
comment on column tier.frames is 'frames per clip';
comment on column tier.clip_seconds is 'length of a clip, s';
comment on column tier.steps is 'denoising steps, or training steps';
comment on column tier.guidance_passes is 'passes per step';
comment on column tier.batch is 'outputs made together';
comment on column tier.audio_hours is 'hours of audio';
comment on column tier.work_quantity is 'quantity of work';
comment on column tier.work_unit is 'unit of work_quantity';
comment on column tier.train_tokens is 'tokens to train on';
comment on column tier.train_samples is 'samples to train on';
comment on column tier.seq_len is 'tokens per training sequence';
comment on column tier.micro_batch is 'sequences per GPU and step';
comment on column tier.global_batch_tokens is 'tokens per optimizer step';
comment on column tier.lora_rank is 'rank of the adapters';
comment on column tier.lora_targets is 'matrices with adapters';
comment on column tier.optimizer is 'optimizer and its states';
comment on column tier.recompute is 'activation recomputation';
comment on column tier.assumed_peak_gib is 'assumed peak memory where no formula exists, GiB';
comment on column tier.is_peak_fixed is 'true where the peak is a measurement that counts before any formula';
comment on column tier.max_gpus is 'most GPUs that may be rented';
comment on column tier.allow_multi_node is 'whether the job may span nodes';
comment on column tier.required_fabric is 'link and network that the job needs';
comment on column tier.hosts_allowed is 'any, or no_peer: no private hosts';
comment on column tier.purchase_kinds is 'ways to pay that are allowed';
comment on column tier.worst_verdict_allowed is 'fits or tight';
comment on column tier.checkpoint_interval_min is 'minutes between safe points';
comment on column tier.sessions_per_month is 'starts a month; null for one job';
comment on column tier.session_minutes is 'minutes per start';
comment on column tier.hours_per_month is 'paid hours a month';
comment on column tier.mean_load is 'mean share of the promised demand';
comment on column tier.start_minutes is 'provisioning, image and weights, minutes';
comment on column tier.deadline_hours is 'hours until the job must be done';
comment on column tier.storage_gb is 'data kept, GB';
comment on column tier.egress_gb_per_month is 'outgoing data, GB a month or job';
comment on column tier.objective is 'what the tier is ranked by';
comment on column tier.secondary_objective is 'second unit of cost';
comment on column tier.region is 'region that the job asks for';
comment on column tier.max_billing_increment_s is 'largest billing step that the job accepts, s';
