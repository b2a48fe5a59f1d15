-- listing_is_offering_or_reject: sources whose listings are not each one offering or one reject.
-- Reads: source_run.
select night, source_id, listings, offerings, rejects
from source_run
where outcome in ('ok', 'unchanged') and listings <> offerings + rejects
