"""The 19 offers of the user stories as OFFERING rows: invented vendors, illustrative prices, checkable answers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import polars as pl
from conftest import MIDNIGHT, NIGHT

from transforms.offers.schema import OFFERING

PLACES = {
    "DE": ("de-fra", "EU", True),
    "FI": ("fi-hel", "EU", True),
    "FR": ("fr-par", "EU", True),
    "IE": ("ie-dub", "EU", True),
    "PL": ("pl-waw", "EU", True),
    "US": ("us-va", "NA", False),
}
CLOUDS = {
    # billing increment and minimum in s, storage $/GB-month, egress $/GB, free GB
    "alpha": (1, 60, 0.10, 0.0, None),
    "beta": (60, 60, 0.08, 0.02, None),
    "beta-us": (1, 60, 0.08, 0.02, None),
    "gamma": (1, 60, 0.12, 0.0, None),
    "delta": (1, 60, 0.10, 0.09, 100.0),
    "host": (1, 1, 0.15, 0.01, None),
    "epsilon": (3600, 3600, 0.10, 0.05, None),
    "zeta": (3600, 3600, 0.10, 0.05, None),
    "eta": (60, 60, 0.05, 0.01, None),
    "kappa": (1, 1, 0.10, 0.0, None),
    "iota": (None, None, None, None, None),
}
HOURS_OLD = {"beta": 3, "beta-us": 3, "gamma": 1, "delta": 5, "host": 1 / 6, "eta": 6}
H100, H200, A100, L40S = "H100-SXM5-80GB", "H200-SXM-141GB", "A100-SXM4-80GB", "L40S-48GB"


def _offer(
    offer_id: str,
    vendor: str,
    gpu: str,
    count: float,
    link: str,
    country: str,
    usd_h: float | None,
    **more: Any,
) -> dict[str, Any]:
    region_key, continent, is_eu = PLACES[country]
    increment, minimum, storage, egress, free = CLOUDS[vendor]
    row = {
        "offering_id": offer_id,
        "source_id": vendor,
        "provider": vendor,
        "segment": {"host": "marketplace", "delta": "hyperscaler"}.get(vendor, "neocloud"),
        "plan": f"{gpu}-{count:g}",
        "region_text": region_key,
        "region_key": region_key,
        "country": country,
        "continent": continent,
        "is_eu": is_eu,
        "purchase": "on_demand",
        "gpu_text": gpu,
        "gpu_key": gpu,
        "gpu_candidates": [gpu],
        "gpu_count": count,
        "link": link,
        "price_state": "priced",
        "currency": "USD",
        "price_usd_per_instance_hour": usd_h,
        "price_usd_per_gpu_hour": None if usd_h is None else usd_h / count,
        "billing_increment_s": increment,
        "billing_minimum_s": minimum,
        "storage_usd_per_gb_month": storage,
        "egress_usd_per_gb": egress,
        "egress_free_gb_per_month": free,
        "is_startup_billed": True,
        "availability": "in_stock",
        "evidence": "live",
        "price_date": NIGHT,
        "fetched_at": MIDNIGHT - timedelta(hours=HOURS_OLD.get(vendor, 2)),
        "source_url": f"https://{vendor}.example/prices",
    }
    return row | more


def story_offers() -> pl.DataFrame:
    """Returns the fixture: F01 to F19."""
    rows = [
        _offer("F01", "alpha", H100, 8, "nvlink", "DE", 24.00),
        _offer("F02", "alpha", H100, 4, "nvlink", "DE", 12.40),
        _offer("F03", "alpha", H100, 1, "none", "DE", 3.20),
        _offer("F04", "beta", H200, 2, "nvlink", "FI", 7.80),
        _offer("F05", "beta-us", H200, 2, "nvlink", "US", 7.00),
        _offer("F06", "gamma", L40S, 8, "pcie", "FR", 9.60),
        _offer("F07", "gamma", L40S, 1, "none", "FR", 1.10),
        _offer("F08", "delta", A100, 8, "nvlink", "IE", 21.00),
        _offer("F09", "host", "RTX4090-24GB", 1, "none", "PL", 0.40),
        _offer(
            "F10", "host", "RTX4090-24GB", 1, "none", "PL", 0.18, purchase="spot", price_state="bid_floor"
        ),
        _offer("F11", "alpha", H100, 8, "nvlink", "DE", 11.00, purchase="spot", availability="unknown"),
        _offer(
            "F12",
            "alpha",
            H100,
            8,
            "nvlink",
            "DE",
            15.20,
            purchase="reserved",
            term_months=12,
            availability="unknown",
        ),
        _offer("F13", "epsilon", H100, 8, "nvlink", "US", 19.90, availability="listed_only"),
        _offer("F14", "zeta", "L4-24GB", 1, "none", "DE", 0.60),
        _offer("F15", "gamma", L40S, 1, "none", "FR", 0.60, purchase="spot"),
        _offer("F16", "eta", "MI300X-192GB", 1, "none", "US", 2.40),
        _offer("F17", "kappa", "H100-PCIE-80GB", 6, "pcie", "DE", 13.20),
        _offer(
            "F18",
            "iota",
            "B200-SXM-180GB",
            8,
            "nvlink",
            "DE",
            None,
            price_state="contact_sales",
            price_gap="preview",
            availability="listed_only",
            is_startup_billed=None,
        ),
        _offer("F19", "alpha", H100, 1 / 7, "none", "DE", 0.55, vram_gib=10.0),
    ]
    return pl.DataFrame(rows, schema=OFFERING, strict=False)


def some(*offer_ids: str) -> pl.DataFrame:
    """Returns these offers of the fixture."""
    return story_offers().filter(pl.col("offering_id").is_in(offer_ids))
