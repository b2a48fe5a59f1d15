-- how_far_the_model_is_off: How well is each part of the model predicted on a GPU that no measurement covers?
select part, scored, round(100 * coverage, 1) as coverage_pct, round(100 * median_error, 1) as median_error_pct,
    round(100 * in_band_share, 1) as in_band_pct, round(100 * right_pairs_share, 1) as order_right_pct
from accuracy_score
where held_out = 'gpu' and case_class = 'all'
order by part
