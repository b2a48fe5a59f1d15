"""The columns of each stage between a listing and the warehouse. Names and units are decided here, once.

LISTING   what a parser said, one row each, numbers as text so that no digit is lost
OFFERING  the same thing in USD, GiB and our keys; never without the row it came from
REJECT    a listing that cannot be an offering, with the reason
MARKET    what each provider asks for one GPU, to hold the prices of others against
FINDING   what a person should look at: a row or a whole source that looks wrong

STOCK, INTERRUPTION, RATE, EXTRA and PAGE_COUNT are what a parser says beside the prices.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from polars.datatypes import DataTypeClass


def columns(types: Mapping[str, pl.DataType | DataTypeClass]) -> pl.Schema:
    """Returns the schema of these columns, in this order."""
    return pl.Schema(types)


MONEY = pl.Decimal(18, 6)
UTC = pl.Datetime("us", "UTC")

LISTING = columns(
    {
        "source_id": pl.String,
        "part": pl.String,
        "place": pl.String,
        "capture_sha256": pl.String,
        "fetched_at": UTC,
        "provider": pl.String,
        "product": pl.String,
        "segment": pl.String,
        "plan": pl.String,
        "gpu_text": pl.String,
        "gpu_count": pl.String,
        "gpu_memory": pl.String,
        "gpu_memory_unit": pl.String,
        "gpu_memory_is_total": pl.Boolean,
        "form_factor_text": pl.String,
        "link_text": pl.String,
        "fabric_text": pl.String,
        "vcpus": pl.String,
        "ram": pl.String,
        "ram_unit": pl.String,
        "disk": pl.String,
        "disk_unit": pl.String,
        "price": pl.String,
        "currency": pl.String,
        "price_per": pl.String,
        "price_unit": pl.String,
        "price_state": pl.String,
        "purchase": pl.String,
        "term_months": pl.Int32,
        "upfront": pl.String,
        "regular_price": pl.String,
        "region_text": pl.String,
        "zone_text": pl.String,
        "availability": pl.String,
        "availability_text": pl.String,
        "available_count": pl.Int64,
        "valid_from": pl.Date,
        "billing_increment_s": pl.Int32,
        "billing_minimum_s": pl.Int32,
        "storage_price_per_gb_month": pl.String,
        "egress_price_per_gb": pl.String,
        "ingress_price_per_gb": pl.String,
        "evidence": pl.String,
        "as_of": pl.Date,
        "source_url": pl.String,
        "origin": pl.String,
        "note": pl.String,
    }
)

STOCK = columns(
    {
        "source_id": pl.String,
        "part": pl.String,
        "place": pl.String,
        "provider": pl.String,
        "plan": pl.String,
        "region_text": pl.String,  # null: the answer holds for every region
        "purchase": pl.String,  # null: the answer holds for every kind
        "availability": pl.String,
        "availability_text": pl.String,
    }
)

INTERRUPTION = columns(
    {
        "source_id": pl.String,
        "part": pl.String,
        "place": pl.String,
        "provider": pl.String,
        "plan": pl.String,
        "region_text": pl.String,
        "monthly_low_pct": pl.Float64,  # share of machines lost in a month, edges of the band
        "monthly_high_pct": pl.Float64,  # null: the band is open above
        "saving_pct": pl.Float64,
    }
)

RATE = columns(
    {
        "base": pl.String,
        "quote": pl.String,
        "rate": pl.Float64,  # units of quote for one unit of base
        "rate_date": pl.Date,
    }
)

EXTRA = columns(
    {
        "source_id": pl.String,
        "part": pl.String,
        "place": pl.String,
        "provider": pl.String,
        "kind": pl.String,  # storage, egress or ingress
        "name": pl.String,
        "price": pl.String,
        "currency": pl.String,
        "per": pl.String,
        "region_text": pl.String,  # null: the price holds in every region
        "from_gb": pl.Float64,  # where the step of a tiered price begins within a month
    }
)

PAGE_COUNT = columns(
    {
        "source_id": pl.String,
        "part": pl.String,
        "place": pl.String,
        "list_name": pl.String,
        "declared": pl.Int64,  # rows of the whole list, as the page says
        "rows": pl.Int64,  # rows on this page
    }
)

OFFERING = columns(
    {
        # identity
        "offering_id": pl.String,  # sha256 of the identity, 16 hex digits
        "source_id": pl.String,
        "provider": pl.String,
        "product": pl.String,
        "segment": pl.String,
        "origin": pl.String,
        "plan": pl.String,
        "region_text": pl.String,
        "region_key": pl.String,
        "country": pl.String,
        "continent": pl.String,
        "is_eu": pl.Boolean,
        "zone_text": pl.String,
        "purchase": pl.String,
        "term_months": pl.Int32,
        # hardware
        "gpu_text": pl.String,
        "gpu_key": pl.String,  # null when unmapped or ambiguous
        "gpu_candidates": pl.List(
            pl.String
        ),  # one key when certain, several when ambiguous, empty when unmapped
        "gpu_count": pl.Float64,  # 0.5 is half a GPU
        "vram_gib": pl.Float64,  # of one GPU as sold; a slice has its own
        "form_factor_text": pl.String,
        "link": pl.String,  # nvlink, pcie, xgmi, none (one GPU), unknown
        "fabric_gbps": pl.Float64,  # between nodes, per node, Gb/s; null when not stated
        "vcpus": pl.Float64,
        "ram_gib": pl.Float64,
        "disk_gb": pl.Float64,
        # price
        "price_state": pl.String,
        "price_listed": pl.Decimal(24, 10),
        "currency": pl.String,
        "price_per": pl.String,
        "price_unit": pl.String,
        "upfront_listed": pl.Decimal(24, 10),
        # crossed out beside a promotion, per the same as price_listed
        "regular_price_listed": pl.Decimal(24, 10),
        "price_usd_per_gpu_hour": MONEY,
        "price_usd_per_instance_hour": MONEY,
        "upfront_usd": MONEY,
        "usd_per_currency": pl.Float64,
        "fx_date": pl.Date,
        "price_gap": pl.String,  # why there is no USD price; null when there is one
        "valid_from": pl.Date,
        # terms of the bill; null is unknown
        "billing_increment_s": pl.Int32,
        "billing_minimum_s": pl.Int32,
        "storage_usd_per_gb_month": pl.Float64,
        "egress_usd_per_gb": pl.Float64,
        "egress_free_gb_per_month": pl.Float64,
        "ingress_usd_per_gb": pl.Float64,
        "storage_source": pl.String,  # offer, provider, or "facts of" a day
        "egress_source": pl.String,
        "is_startup_billed": pl.Boolean,
        "monthly_cap_hours": pl.Float64,
        "spot_notice_s": pl.Float64,
        "interruptions_per_hour": pl.Float64,  # high end of what is stated; null is unknown
        "interruption_source": pl.String,
        # availability
        "availability": pl.String,
        "availability_text": pl.String,
        "available_count": pl.Int64,
        # provenance
        "evidence": pl.String,
        "price_date": pl.Date,  # day the price was true: as_of, else the fetch of what was read live; null: not known
        "fetched_at": UTC,
        "source_url": pl.String,
        "capture_sha256": pl.String,
        "part": pl.String,
        "place": pl.String,
        "note": pl.String,
    }
)

REJECT = columns(
    {
        "source_id": pl.String,
        "part": pl.String,
        "place": pl.String,
        "capture_sha256": pl.String,
        "provider": pl.String,
        "plan": pl.String,
        "gpu_text": pl.String,
        "price": pl.String,
        "currency": pl.String,
        "reason": pl.String,  # a code such as price_not_positive
        "detail": pl.String,
    }
)

MARKET = columns(
    {
        "source_id": pl.String,
        "provider": pl.String,
        "segment": pl.String,
        "gpu_key": pl.String,
        "purchase": pl.String,
        "usd_per_gpu_hour": pl.Float64,  # median of the provider's prices
    }
)

FINDING = columns(
    {
        "source_id": pl.String,
        "rule": pl.String,  # count_drop, price_jump, unmapped_gpu, ...
        "is_hard": pl.Boolean,  # a hard finding holds the source
        "subject": pl.String,
        "detail": pl.String,
    }
)
