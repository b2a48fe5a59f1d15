-- fit: popular models x formats x contexts x users on the hardware of the current offers: memory and speed.
-- Grain: model_id, weight_precision, context_tokens, users, hardware_id.
-- Units: memory in GiB of one GPU, speed in output tokens per second of one user, times in ms.
-- Reads: nothing. Read by: offer_fit.
create table fit (
    model_id varchar not null,
    weight_precision varchar not null,
    kv_precision varchar,
    context_tokens integer not null,
    users integer not null,
    hardware_id varchar not null,
    gpus_per_copy smallint,
    copies smallint,
    verdict varchar,
    need_gib float,
    usable_gib float,
    load_ratio float,
    tokens_per_s_per_user float,
    tokens_per_s_per_user_low float,
    tokens_per_s_per_user_high float,
    ttft_ms float,
    limiting_factor varchar,
    is_calibrated boolean
);

comment on table fit is 'popular models x formats x contexts x users on the hardware of the current offers: memory and speed';
comment on column fit.model_id is 'the model';
comment on column fit.weight_precision is 'format of the weights';
comment on column fit.kv_precision is 'format of the cache';
comment on column fit.context_tokens is 'tokens that each user may have in the cache';
comment on column fit.users is 'users of one instance at once, spread over its copies';
comment on column fit.hardware_id is 'GPU candidates, count, link, fabric and memory of a slice';
comment on column fit.gpus_per_copy is 'GPUs that hold one copy of the model, in the best layout';
comment on column fit.copies is 'copies on one instance';
comment on column fit.verdict is 'fits, tight, does_not_fit, unsupported_precision or unknown, with all users at full context';
comment on column fit.need_gib is 'memory needed on each GPU, GiB';
comment on column fit.usable_gib is 'memory usable on each GPU, GiB';
comment on column fit.load_ratio is 'need_gib / usable_gib';
comment on column fit.tokens_per_s_per_user is 'output tokens per second of each user in a conversation at full context; null where it is not held';
comment on column fit.tokens_per_s_per_user_low is 'low end of the 80 % band';
comment on column fit.tokens_per_s_per_user_high is 'high end of the 80 % band';
comment on column fit.ttft_ms is 'time to the first token without queueing, ms';
comment on column fit.limiting_factor is 'bandwidth, compute, link or overhead';
comment on column fit.is_calibrated is 'true when GPUs of this family were measured';
