"""Compares tonight's offerings of a source with its last good night and with the market, and says what looks wrong.

A hard finding holds the source: its last good night stands until a person has looked.
"""

from __future__ import annotations

import polars as pl

from transforms.offers.schema import FINDING
from transforms.reference.tables import assumption

PRICE = "price_usd_per_instance_hour"
GPU_PRICE = "price_usd_per_gpu_hour"
MARKET = ("gpu_key", "purchase", "segment")
SHOWN = 3


def quality(
    offerings: pl.DataFrame, rejects: pl.DataFrame, previous_offerings: pl.DataFrame, *, source_id: str
) -> pl.DataFrame:
    """Returns the FINDING rows of one source.

    Args:
        offerings: OFFERING rows of tonight.
        rejects: REJECT rows of tonight.
        previous_offerings: OFFERING rows of the source's last good night; empty when there was none.
        source_id: the source that all these rows come from.
    """
    pairs = offerings.join(previous_offerings, on="offering_id", suffix="_before")
    found = [
        *count_drop(offerings, previous_offerings),
        *price_jump(pairs),
        *currency_change(pairs),
        *unmapped_gpu(offerings),
        *key_duplicates(rejects),
        *eight_gpu_price_equals_one(offerings),
        *price_equals_count(offerings),
        *price_outside_market_band(offerings),
    ]
    rows = [(source_id, rule, is_hard, subject, detail) for rule, is_hard, subject, detail in found]
    return pl.DataFrame(rows, schema=FINDING, orient="row").sort(FINDING.names())


Found = tuple[str, bool, str, str]


def count_drop(offerings: pl.DataFrame, previous: pl.DataFrame) -> list[Found]:
    """Hard: far fewer offerings than on the last good night."""
    before, now = previous.height, offerings.height
    if before == 0 or now >= before * assumption("count_drop_hard_ratio"):
        return []
    return [("count_drop", True, "offerings", f"{now} offerings, {before} on the last good night")]


def price_jump(pairs: pl.DataFrame) -> list[Found]:
    """Soft for each offering whose price moved by more than the stated factor; hard when many did.

    Prices compare in their own currency, so that a move of the exchange rate is none. Spot prices are made to move
    and do not count towards the hard finding. With few rows to compare a single jump is already hard.
    """
    factor = assumption("price_jump_ratio")
    now, before = (
        pl.col(f"{PRICE}{night}").cast(pl.Float64) / pl.col(f"usd_per_currency{night}")
        for night in ("", "_before")
    )
    compared = pairs.with_columns(ratio=now / before).filter(pl.col("ratio").is_finite())
    jumped = compared.filter((pl.col("ratio") > factor) | (pl.col("ratio") < 1 / factor)).sort("offering_id")
    found = [
        ("price_jump", False, _subject(row), f"{row[f'{PRICE}_before']} to {row[PRICE]} USD per hour")
        for row in jumped.iter_rows(named=True)
    ]
    steady = compared.filter(pl.col("purchase") != "spot").height
    wild = jumped.filter(pl.col("purchase") != "spot").height
    few = steady < assumption("price_jump_few_rows")
    if wild and (few or wild >= steady * assumption("price_jump_hard_share")):
        found.append(
            (
                "price_jump",
                True,
                "offerings",
                f"{wild} of {steady} prices moved by more than {factor:g} times",
            )
        )
    return found


def currency_change(pairs: pl.DataFrame) -> list[Found]:
    """Hard: the same offering in another currency."""
    changed = pairs.filter(pl.col("currency") != pl.col("currency_before")).sort("offering_id")
    if changed.is_empty():
        return []
    row = changed.row(0, named=True)
    detail = f"{changed.height} offerings, such as from {row['currency_before']} to {row['currency']}"
    return [("currency_change", True, _subject(row), detail)]


def unmapped_gpu(offerings: pl.DataFrame) -> list[Found]:
    """Soft: a GPU name that stands for no card we know."""
    names = offerings.filter(pl.col("gpu_candidates").list.len() == 0)
    counts = (
        names.group_by("provider", "gpu_text")
        .agg(pl.len(), pl.col("plan").min())
        .sort("provider", "gpu_text")
    )
    return [
        ("unmapped_gpu", False, f"{provider}: {text:.80}", f"{count} offerings, such as {plan:.80}")
        for provider, text, count, plan in counts.iter_rows()
    ]


def key_duplicates(rejects: pl.DataFrame) -> list[Found]:
    """Soft: listings with the identity of another one."""
    twice = rejects.filter(pl.col("reason") == "duplicate").sort("plan", "place")
    if twice.is_empty():
        return []
    plans = twice["plan"].unique(maintain_order=True).head(SHOWN).fill_null("?").to_list()
    return [
        (
            "key_duplicates",
            False,
            "listings",
            f"{twice.height} listings say the same, such as {', '.join(plans)}",
        )
    ]


def eight_gpu_price_equals_one(offerings: pl.DataFrame) -> list[Found]:
    """Soft: a plan of eight costs what the plan of one costs, so a price per GPU was read as one per instance."""
    same = ["provider", "gpu_text", "purchase", "term_months", "region_text", PRICE]
    priced = offerings.filter(pl.col(PRICE).is_not_null())
    ones = (
        priced.filter(pl.col("gpu_count") == 1)
        .select(*same, one_plan="plan")
        .unique(subset=same)
        .sort(pl.all())
    )
    eights = priced.filter(pl.col("gpu_count") == 8).join(ones, on=same, nulls_equal=True).sort("offering_id")
    return [
        (
            "eight_gpu_price_equals_one",
            False,
            _subject(row),
            f"8 GPUs cost the {row[PRICE]} USD of one ({row['one_plan']})",
        )
        for row in eights.unique(subset="offering_id", maintain_order=True).iter_rows(named=True)
    ]


def price_equals_count(offerings: pl.DataFrame) -> list[Found]:
    """Soft: the listed price is the number of GPUs, as when a column was read one too far."""
    odd = offerings.filter(
        pl.col("gpu_count") >= 2, pl.col("price_listed").cast(pl.Float64) == pl.col("gpu_count")
    )
    return [
        ("price_equals_count", False, _subject(row), f"price and GPU count are both {row['gpu_count']:g}")
        for row in odd.sort("offering_id").iter_rows(named=True)
    ]


def price_outside_market_band(offerings: pl.DataFrame) -> list[Found]:
    """Soft: the price per GPU-hour is far from that of the other offers of the GPU."""
    odd = _with_band(offerings).filter("is_outside").sort("offering_id")
    return [
        (
            "price_outside_market_band",
            False,
            _subject(row),
            f"{row[GPU_PRICE]} USD per GPU-hour, median {row['median']:.4g}",
        )
        for row in odd.iter_rows(named=True)
    ]


def outside_market_band(offerings: pl.DataFrame) -> frozenset[str]:
    """Returns the ids of offerings whose price is so far from the market that they must not lead a ranking."""
    return frozenset(_with_band(offerings).filter("is_outside")["offering_id"].to_list())


def _with_band(offerings: pl.DataFrame) -> pl.DataFrame:
    """Returns the priced offerings of known GPUs with the median of their market, and whether they are outside it.

    A market is one GPU, purchase kind and segment. The band needs enough other offers in it to mean something.
    """
    price = pl.col(GPU_PRICE).cast(pl.Float64)
    market = offerings.filter(
        pl.col("price_state") == "priced", pl.col(GPU_PRICE).is_not_null(), pl.col("gpu_key").is_not_null()
    ).with_columns(median=price.median().over(MARKET), others=pl.len().over(MARKET) - 1)
    ratio = price / pl.col("median")
    low, high = assumption("market_band_low_ratio"), assumption("market_band_high_ratio")
    enough = pl.col("others") >= assumption("market_band_min_others")
    return market.with_columns(is_outside=enough & ~ratio.is_between(low, high))


def _subject(row: dict[str, object]) -> str:
    place = row["region_text"] or "no region"
    return f"{row['provider']}: {row['plan']!s:.80} @ {place!s:.40} ({row['purchase']})"
