"""A small published night for the tests of the site: the public views as tables, with figures made by hand."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from transforms.offers.schema import OFFERING
from transforms.reference.tables import read
from transforms.workloads.jobs import tier_jobs
from transforms.workloads.schema import EXCLUSION, RANKING
from warehouse.connection import sql_files

NIGHT = date(2026, 11, 30)
HOSTILE_NAME = '<img src=x onerror="alert(1)">'
HOSTILE_NOTE = "</script><script>alert(2)</script>"

SHOWN = {
    "gpu_name": pl.String,
    "provider_name": pl.String,
    "basis": pl.String,
    "freshness": pl.String,
    "age_days": pl.Int32,
    "is_counted": pl.Boolean,
    "nights_in_stock_share": pl.Float64,
    "source_outcome": pl.String,
    "stale_reason": pl.String,
}
SCORES = dict(read("accuracy_score").schema)
OF_THE_OFFER = [
    "source_id",
    "provider",
    "provider_name",
    "segment",
    "plan",
    "gpu_name",
    "gpu_key",
    "gpu_count",
    "purchase",
    "region_text",
    "country",
    "price_usd_per_gpu_hour",
    "price_usd_per_instance_hour",
    "age_days",
    "freshness",
    "evidence",
    "availability",
    "source_url",
    "billing_increment_s",
    "storage_usd_per_gb_month",
    "egress_usd_per_gb",
    "price_date",
]

# gpu_key, name, GiB
GPUS = [
    ("MI300X-192GB", "AMD Instinct MI300X 192GB", 192.0),
    ("H200-SXM-141GB", "NVIDIA H200 SXM 141GB", 141.0),
    ("H100-SXM5-80GB", "NVIDIA H100 SXM5 80GB", 80.0),
    ("L40S-48GB", "NVIDIA L40S 48GB", 48.0),
    ("RTX4090-24GB", "NVIDIA GeForce RTX 4090 24GB", 24.0),
]
# provider, name, segment, region, continent, in the EU, source is live
PROVIDERS = [
    ("runpod", "RunPod", "neocloud", None, None, None, False),
    ("scaleway", "Scaleway", "hyperscaler", "fr-par-2", "EU", True, True),
    ("verda", "Verda", "neocloud", "FIN-03", "EU", True, True),
    ("aws", "Amazon Web Services EC2", "hyperscaler", "us-east-1", "NA", False, True),
    ("salad", "Salad", "peer_host", None, None, None, False),
    ("vast", "Vast.ai", "marketplace", "Sweden, SE", "EU", True, True),
    ("civo", "Civo", "neocloud", "LON1", "EU", False, False),
    ("evil", HOSTILE_NAME, "reseller", '"><b>x</b>', None, None, False),
]


def offers(count: int = 260, live: bool = True) -> list[dict[str, Any]]:
    """Returns offers of every provider, GPU, count and way to pay, with traps among them."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        provider, name, segment, region, continent, is_eu, is_live = PROVIDERS[number % len(PROVIDERS)]
        key, gpu, gib = GPUS[(number // len(PROVIDERS)) % len(GPUS)]
        gpus = (1.0, 2.0, 8.0)[(number // 40) % 3]
        price = round(gib / 60 + number % 13 * 0.11 + number * 0.001, 3)
        age = 0 if is_live and live else (9, 51, 100, 170)[number % 4]
        purchase = ("on_demand", "spot", "reserved", "on_demand")[number // 7 % 4]
        rows.append(
            {
                "offering_id": f"{number:016x}",
                "source_id": provider if is_live and live else "list_prices",
                "provider": provider,
                "provider_name": name,
                "segment": segment,
                "plan": f"{provider}-{int(gpus)}x{key.split('-')[0].lower()}",
                "region_text": region,
                "continent": continent,
                "is_eu": is_eu,
                "purchase": purchase,
                "term_months": 12 if purchase == "reserved" else None,
                "gpu_text": gpu,
                "gpu_key": key,
                "gpu_candidates": [key],
                "gpu_name": gpu,
                "gpu_count": gpus,
                "vram_gib": gib,
                "link": "none" if gpus == 1 else "nvlink",
                "price_state": "priced",
                "price_usd_per_gpu_hour": price,
                "price_usd_per_instance_hour": round(price * gpus, 3),
                "billing_increment_s": (1, 60, 3600, None)[number % 4],
                "storage_usd_per_gb_month": 0.1 if number % 2 else None,
                "egress_usd_per_gb": 0.0 if number % 2 else None,
                "availability": ("in_stock", "low", "listed_only", "unknown")[number % 4],
                "evidence": "live" if is_live and live else "page_html",
                "price_date": NIGHT - timedelta(days=age),
                "age_days": age,
                "freshness": "tonight" if is_live and live else "bundled",
                "is_counted": True,
                "source_url": f"https://www.{provider}.example/pricing",
            }
        )
    rows[3] |= {"price_state": "from_price"}
    rows[4] |= {"price_state": "bid_floor", "price_usd_per_gpu_hour": 0.0123}
    rows[5] |= {
        "price_state": "contact_sales",
        "price_usd_per_gpu_hour": None,
        "price_usd_per_instance_hour": None,
    }
    rows[6] |= {
        "gpu_key": None,
        "gpu_candidates": ["H100-SXM5-80GB", "H200-SXM-141GB"],
        "gpu_name": "NVIDIA H100 SXM5 80GB or NVIDIA H200 SXM 141GB",
        "vram_gib": None,
    }
    rows[7] |= {"source_url": "javascript:alert(3)", "plan": "=HYPERLINK(1)", "note": HOSTILE_NOTE}
    rows[8] |= {"price_listed": Decimal("2.5"), "currency": "EUR", "price_per": "gpu", "price_unit": "hour"}
    rows[8] |= {"usd_per_currency": 1.0842, "fx_date": date(2026, 11, 27)}
    rows[9] |= {"gpu_count": 0.5}
    return rows


def ranked(tier: str, offer: dict[str, Any], place: int, **changes: Any) -> dict[str, Any]:
    """Returns a ranking row of a text serving tier: 730 hours of one machine, 200 GB kept."""
    price = offer["price_usd_per_instance_hour"]
    storage = None if offer["storage_usd_per_gb_month"] is None else 20.0
    total = 730 * price + price / 4 + (storage or 0.0)
    row = {
        "tier_id": tier,
        "rank": place,
        "offering_id": offer["offering_id"],
        "objective": "usd_per_million_output_tokens",
        "objective_usd": total / 157.68,
        "total_usd": total,
        "is_lower_bound": storage is None,
        "compute_usd": 730 * price,
        "startup_usd": price / 4,
        "storage_usd": storage,
        "egress_usd": None if storage is None else 0.0,
        "interruption_usd": 0.0,
        "commitment_usd": 0.0,
        "billed_hours": 730.25,
        "work_hours": 730.0,
        "instances": 1.0,
        "verdict": "fits",
        "need_gib": 82.7,
        "usable_gib": 191.0,
        "load_ratio": 82.7 / 191,
        "weights_gib": 68.9,
        "state_gib": 10.0,
        "activation_gib": 1.6,
        "runtime_gib": 2.2,
        "speed": 35.0,
        "speed_low": 24.0,
        "speed_high": 47.0,
        "speed_unit": "tokens/s/user",
        "certainty": "likely",
        "limiting_factor": "bandwidth",
        "is_calibrated": True,
        "flags": [],
        "is_headline": place == 1,
        "tightest_constraint": "speed",
        "tightest_slack_ratio": 0.4,
        "break_even_usd_per_instance_hour": price + 0.17,
        "bill_state": "bounded" if storage is None else "exact",
        "objective_low_usd": total / 157.68,
        "objective_high_usd": None,
        "is_spot_sensitive": False,
        "time_weights_share": 0.6,
        "time_cache_share": 0.2,
        "time_compute_share": 0.001,
        "time_link_share": 0.0,
        "time_overhead_share": 0.1,
        "time_prefill_share": 0.099,
        "engine": "vLLM 0.8 and later",
    }
    if place == 1:
        row |= {"survives_slower": False, "survives_faster": True, "survives_loss": True}
    if offer["purchase"] == "reserved":
        row |= {"commitment_break_even_hours": 5256.0, "commitment_break_even_share": 0.6}
    if offer["purchase"] == "spot":
        row |= {"checkpoint_advice_min": 31.6, "is_spot_sensitive": True}
    full = row | changes
    parts = ("compute_usd", "startup_usd", "storage_usd", "egress_usd", "interruption_usd", "commitment_usd")
    bill = sum(full[part] or 0.0 for part in parts)
    wide = 1.25 if full["bill_state"] == "bounded" else 1.0
    return {"total_low_usd": bill, "total_high_usd": bill * wide} | full | {"total_usd": bill}


def rankings(deck: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the ranking of four tiers: a demand, a job with a deadline, a picture app, and one that nothing leads."""
    chat = [
        ranked("rt-chat-70b", deck[1], 1),
        ranked("rt-chat-70b", deck[2], 2),
        ranked("rt-chat-70b", deck[9], 3, certainty="certain", speed=50.0, speed_low=34.0, speed_high=67.0),
        ranked("rt-chat-70b", deck[10], 4, is_calibrated=False, would_lead_if=None),
        *[ranked("rt-chat-70b", deck[number], number - 35) for number in range(40, 100)],
    ]
    job = {
        "objective": "usd_per_1000_images",
        "objective_usd": 0.29,
        "compute_usd": 14.1,
        "work_hours": 15.1,
        "billed_hours": 15.3,
        "speed": 1.1,
        "speed_low": 0.8,
        "speed_high": 1.4,
        "speed_unit": "s/image",
        "limiting_factor": "compute",
        "interruption_usd": 0.13,
        "storage_usd": 0.25,
        "tightest_constraint": "deadline",
        "instances": 2.0,
    }
    app = {
        "speed": 4.0,
        "speed_low": 3.0,
        "speed_high": 5.2,
        "speed_unit": "s/image",
        "certainty": "certain",
        "objective": "usd_per_1000_images",
        "tightest_constraint": "latency",
        "verdict": "tight",
    }
    return [
        *chat,
        ranked("img-12b-batch", deck[17], 2, **job, would_lead_if="uncalibrated", is_calibrated=False),
        ranked("img-12b-batch", deck[19], 1, **job, flags=["weight_only", "assumed_interruptions"]),
        ranked("img-6b-ui", deck[20], 1, **app, break_even_usd_per_instance_hour=None),
        ranked("qlora-8b", deck[21], 2, would_lead_if="second_hand|old_price"),
    ]


def exclusions(deck: list[dict[str, Any]], tiers: list[str]) -> list[dict[str, Any]]:
    """Returns excluded offers: for every tier some, with and without a margin, known and unknown."""
    reasons = [
        ("memory", 0.12, False, True),
        ("speed", 0.4, False, False),
        ("purchase_kind", None, False, False),
        ("fabric", None, True, True),
    ]
    return [
        {
            "tier_id": tier,
            "offering_id": deck[100 + number]["offering_id"],
            "reason": reason,
            "margin_ratio": margin,
            "is_unknown": is_unknown,
            "is_near_miss": is_near and number < 8,
        }
        for tier in tiers
        for number, (reason, margin, is_unknown, is_near) in enumerate(reasons * 10)
    ]


def sources() -> pl.DataFrame:
    """Returns one source for each outcome, the last two of providers that no source asks."""
    outcomes = ["ok", "unchanged", "stale", "blocked", "skipped", "failed", "held", "off", "never"]
    outcomes += ["bundled", "not_asked"]
    return pl.DataFrame(
        {
            "source_id": [f"source_{outcome}" for outcome in outcomes],
            "name": [
                "Scaleway",
                "Verda",
                "AWS",
                "RunPod",
                "Lambda",
                HOSTILE_NAME,
                "Vast.ai",
                "Salad",
                "Civo",
                "Acecloud",
                "IBM Cloud",
            ],
            "segment": ["neocloud"] * len(outcomes),
            "outcome": outcomes,
            "reason": [None, None, "scaleway: 503 three times; try later", HOSTILE_NOTE, *["why"] * 7],
            "listings": [120, 80, 4000, None, None, None, 12, *[None] * 4],
            "offerings": [118, 80, 3990, None, None, None, 12, None, None, 3, None],
            "rejects": [2, 0, 10, None, None, None, 0, *[None] * 4],
            "last_good_night": [NIGHT, NIGHT, NIGHT - timedelta(days=2), *[None] * 8],
            "age_days": [0, 0, 2, *[None] * 8],
            "seconds": [1.25, 0.4, 61.0, *[None] * 8],
            "terms": [*["open", "restricted", "unknown"] * 3, None, None],
            "terms_url": [*["https://example.com/terms", None, "javascript:alert(4)"] * 3, None, None],
            "is_on": [True] * 7 + [False, True, False, False],
        },
        schema_overrides={
            "listings": pl.Int64,
            "offerings": pl.Int64,
            "rejects": pl.Int64,
            "age_days": pl.Int64,
        },
    )


def scores() -> pl.DataFrame:
    """Returns scores of text models as fitted and with each GPU left out, and of memory as fitted."""
    score = {
        "scored": 98,
        "refused": 2,
        "no_proof": 5,
        "coverage": 0.98,
        "median_error": 0.106,
        "in_band_share": 0.83,
        "pairs": 40,
        "right_pairs_share": 0.963,
        "as_of": NIGHT,
    }
    blind = {"held_out": "gpu", "median_error": 0.138, "in_band_share": 0.798, "right_pairs_share": 0.947}
    memory = {"held_out": "none", "part": "memory", "case_class": "weights", "median_error": 0.00079}
    answers = {"median_error": None, "in_band_share": None, "pairs": 0, "right_pairs_share": None}
    fits = memory | answers | {"case_class": "fits", "right_share": 1.0}
    rows = [
        score | {"held_out": "none", "part": "text", "case_class": "all"},
        score | blind | {"part": "text", "case_class": "all"},
        score | memory | {"pairs": 0, "right_pairs_share": None},
        score | fits,
    ]
    return pl.DataFrame([{name: row.get(name) for name in SCORES} for row in rows], schema=SCORES)


def write(path: Path, *, live: bool = True, count: int = 260) -> Path:
    """Writes the published file of the night and returns its path."""
    deck = offers(count, live)
    by_id = {row["offering_id"]: row for row in deck}
    tiers = tier_jobs().rename({"group": "group_name"}).with_columns(pl.lit(None, pl.String).alias("note"))
    excluded = exclusions(deck, sorted(tiers["tier_id"])) if count > 140 else []
    offer_types = {name: {**OFFERING, **SHOWN}[name] for name in OF_THE_OFFER}

    def joined(rows: list[dict[str, Any]], own: pl.Schema) -> pl.DataFrame:
        full = [row | {name: by_id[row["offering_id"]].get(name) for name in OF_THE_OFFER} for row in rows]
        return pl.DataFrame(full, schema={**own, **offer_types})

    exclusion = joined(excluded, EXCLUSION)
    tables = {
        "current_offering": pl.DataFrame(deck, schema={**OFFERING, **SHOWN}),
        "tier": tiers,
        "tier_ranking": joined(rankings(deck) if count > 140 else [], RANKING),
        "tier_exclusion": exclusion,
        "tier_exclusion_count": exclusion.group_by("tier_id", "reason", "is_unknown").agg(offers=pl.len()),
        "source_health": sources(),
        "gpu": read("gpu"),
        "assumption": read("assumption"),
        "accuracy_score": scores(),
        "model": read("model"),
        "release": pl.DataFrame(
            {
                "night": [NIGHT],
                "created_at": [datetime(2026, 11, 30, 6, 5, tzinfo=UTC)],
                "offers": [count],
                "providers": [len(PROVIDERS)],
                "tiers": [tiers.height],
                "has_live_price": [live],
                "version": ["0.1.0"],
            }
        ),
    }
    with duckdb.connect(str(path)) as connection:
        for name, frame in tables.items():
            connection.register("frame", frame.to_arrow())
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
        connection.execute(dict(sql_files("views"))["runner_up"])
    return path
