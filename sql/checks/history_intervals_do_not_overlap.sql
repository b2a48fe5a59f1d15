-- history_intervals_do_not_overlap: price intervals that are empty, backwards or overlap the next one.
-- Reads: price_history.
with ordered as (
    select
        source_id,
        offering_id,
        from_date,
        to_date,
        lead(from_date) over (partition by source_id, offering_id order by from_date) as next_from_date
    from price_history
)
select source_id, offering_id, from_date, to_date, next_from_date
from ordered
where to_date <= from_date or next_from_date < coalesce(to_date, date '9999-12-31')
