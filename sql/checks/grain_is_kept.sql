-- grain_is_kept: keys that stand twice in a table, which has no index of its own so that DuckDB 1.0 can read the file.
-- Reads: offering, source_run, price_history, availability_history, ranking, exclusion, fx_rate, capture.
with key as (
    select 'offering' as table_name, source_id || ' ' || offering_id as key from offering
    union all
    select 'source_run', source_id || ' ' || night from source_run
    union all
    select 'price_history', source_id || ' ' || offering_id || ' ' || from_date from price_history
    union all
    select 'availability_history', source_id || ' ' || offering_id || ' ' || from_date from availability_history
    union all
    select 'ranking', tier_id || ' ' || rank from ranking
    union all
    select 'exclusion', tier_id || ' ' || offering_id from exclusion
    union all
    select 'fx_rate', base || ' ' || quote || ' ' || rate_date from fx_rate
    union all
    select 'capture', source_id || ' ' || part from capture
)
select table_name, key, count(*) as rows_found
from key
group by table_name, key
having count(*) > 1
