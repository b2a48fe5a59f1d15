-- unmapped_gpu: the listings whose GPU name stands for no GPU we know, with all that the source said of them.
-- Grain: one row per listing.
-- Units: as listed.
-- Reads: listing, offering. Read by: command line.
create or replace view unmapped_gpu as
select listing.*
from listing
semi join (select source_id, gpu_text, plan from offering where len(gpu_candidates) = 0) as unknown
    on unknown.source_id = listing.source_id
    and unknown.gpu_text is not distinct from listing.gpu_text
    and unknown.plan is not distinct from listing.plan
order by listing.source_id, listing.gpu_text, listing.plan, listing.part, listing.place;

comment on view unmapped_gpu is 'the listings whose GPU name stands for no GPU we know, with all that the source said of them';
