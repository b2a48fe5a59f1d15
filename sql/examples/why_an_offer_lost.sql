-- why_an_offer_lost: Which H100 offers cannot serve a 70B model in real time, and why?
select provider_name, plan, gpu_name, gpu_count, reason, detail
from tier_exclusion
where tier_id = 'rt-chat-70b' and gpu_name like '%H100%'
order by provider_name, plan
limit 20
