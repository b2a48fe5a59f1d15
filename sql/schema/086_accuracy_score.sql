-- accuracy_score: how far the model is off on published measurements, with all of them at hand and with a group left out.
-- Grain: held_out, part, case_class.
-- Units: errors, biases and shares as ratios: 0.1 is 10 %.
-- Reads: nothing. Read by: page.
create table accuracy_score (
    held_out varchar not null,
    part varchar not null,
    case_class varchar not null,
    scored bigint,
    refused bigint,
    no_proof bigint,
    coverage double,
    median_error double,
    p90_error double,
    bias double,
    in_band_share double,
    right_share double,
    false_fits bigint,
    false_refusals bigint,
    pairs bigint,
    right_pairs_share double,
    source varchar,
    as_of date
);

comment on table accuracy_score is 'how far the model is off on published measurements';
comment on column accuracy_score.held_out is 'what the coefficients were fitted without: gpu or source, each left out in turn; none: fitted with all measurements';
comment on column accuracy_score.part is 'memory, text, training or generation';
comment on column accuracy_score.case_class is 'class of measurements; all is the whole part; a measurement can be in several classes';
comment on column accuracy_score.scored is 'measurements that the model predicts';
comment on column accuracy_score.refused is 'measurements that the model refuses to predict';
comment on column accuracy_score.no_proof is 'rows that are not counted: they prove nothing';
comment on column accuracy_score.coverage is 'scored / (scored + refused)';
comment on column accuracy_score.median_error is 'median of |predicted / measured - 1|';
comment on column accuracy_score.p90_error is '90th percentile of |predicted / measured - 1|';
comment on column accuracy_score.bias is 'median of predicted / measured - 1';
comment on column accuracy_score.in_band_share is 'share of the measurements inside the 80 % band';
comment on column accuracy_score.right_share is 'classes of counts and answers: share predicted as measured';
comment on column accuracy_score.false_fits is 'class fits: predicted to fit, measured not to';
comment on column accuracy_score.false_refusals is 'class fits: predicted not to fit, measured to';
comment on column accuracy_score.pairs is 'pairs of one setting on other hardware that were measured more than 10 % apart';
comment on column accuracy_score.right_pairs_share is 'share of the pairs that are predicted in the order in which they were measured';
comment on column accuracy_score.source is 'where the fact stands';
comment on column accuracy_score.as_of is 'day that the fact is true for';
