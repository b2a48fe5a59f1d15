-- where_it_is_in_stock: Where can I get an H100 tonight, for how much, and on how many nights was it there?
select
    offer.provider_name,
    offer.gpu_name,
    offer.purchase,
    offer.region_text,
    min(offer.price_usd_per_gpu_hour) as price_usd_per_gpu_hour,
    any_value(round(share.nights_in_stock_share, 2)) as nights_in_stock_share,
    any_value(share.nights_observed) as nights_observed
from current_offering as offer
join stock_share_of_gpu as share
    on share.source_id = offer.source_id
    and share.provider = offer.provider
    and share.gpu_key = offer.gpu_key
    and share.purchase = offer.purchase
    and share.region_text is not distinct from offer.region_text
where offer.gpu_key like 'H100%' and offer.availability in ('in_stock', 'low') and offer.freshness = 'tonight'
group by offer.provider_name, offer.gpu_name, offer.purchase, offer.region_text
order by nights_in_stock_share desc, price_usd_per_gpu_hour, provider_name, region_text
limit 20
