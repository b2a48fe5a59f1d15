"""What looks wrong is found, what looks right is not, and only what should hold a source does."""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT

from transforms.offers.market import market_of, outside_market_band
from transforms.offers.normalise import SPOT_GAP
from transforms.offers.quality import quality
from transforms.offers.quality_rules import limit, severity
from transforms.offers.schema import FINDING, OFFERING, PAGE_COUNT, REJECT
from transforms.reference.tables import FactsError, read

NO_REJECTS = REJECT.to_frame()
NOTHING = OFFERING.to_frame()


def offer(number: int, **changes: Any) -> dict[str, Any]:
    """Returns one offering of one L4 for 1 USD an hour, with changes."""
    row: dict[str, Any] = dict.fromkeys(OFFERING)
    row |= {
        "offering_id": f"{number:016x}",
        "source_id": "demo",
        "provider": "demo",
        "segment": "neocloud",
        "plan": f"plan-{number}",
        "purchase": "on_demand",
        "gpu_text": "L4",
        "gpu_key": "L4-24GB",
        "gpu_candidates": ["L4-24GB"],
        "gpu_count": 1.0,
        "price_state": "priced",
        "price_listed": Decimal(1),
        "price_per": "instance",
        "price_unit": "hour",
        "currency": "USD",
        "price_usd_per_gpu_hour": Decimal(1),
        "price_usd_per_instance_hour": Decimal(1),
        "usd_per_currency": 1.0,
        "price_date": date(2026, 11, 30),
    }
    return row | changes


def priced(number: int, usd: str, **changes: Any) -> dict[str, Any]:
    price = Decimal(usd)
    return offer(
        number,
        price_listed=price,
        price_usd_per_gpu_hour=price,
        price_usd_per_instance_hour=price,
        **changes,
    )


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=OFFERING)


def found(
    now: pl.DataFrame, before: pl.DataFrame = NOTHING, rejects: pl.DataFrame = NO_REJECTS, **more: Any
) -> pl.DataFrame:
    findings = quality(now, rejects, before, source_id="demo", **more)
    assert findings.schema == FINDING
    return findings


def rules(now: pl.DataFrame, before: pl.DataFrame = NOTHING, **more: Any) -> list[tuple[str, bool]]:
    return found(now, before, **more).select("rule", "is_hard").rows()


def night(count: int) -> pl.DataFrame:
    return frame(*(offer(number) for number in range(count)))


def test_a_quiet_night_has_no_findings() -> None:
    assert rules(night(20), night(20)) == []
    assert rules(night(20)) == []
    assert rules(NOTHING) == []


# The rules as data


EMITTED = r'(?:\b(?:limit|one|each|many|_told)\(\s*|rule=pl\.lit\()"([a-z_]+)"'


def named_rules(folder: Path) -> set[str]:
    """Returns the rules that the code of a folder names."""
    return {name for path in sorted(folder.glob("*.py")) for name in re.findall(EMITTED, path.read_text())}


def test_every_rule_has_a_row_and_every_row_is_read(tmp_path: Path) -> None:
    rows = read("quality_rule")
    assert set(rows["rule"]) == named_rules(ROOT / "transforms" / "offers")
    (tmp_path / "more.py").write_text('one("moon_phase", subject, detail)\n')  # the control
    assert named_rules(tmp_path) == {"moon_phase"}


def test_every_rule_says_how_bad_it_is() -> None:
    rows = read("quality_rule")
    assert rows["severity"].null_count() == 0
    is_shared = pl.col("severity") == "hard_when_many"
    assert rows.filter(is_shared != pl.col("hard_share").is_not_null()).is_empty()
    assert rows.filter(is_shared & pl.any_horizontal(pl.col("min_rows", "min_wrong").is_null())).is_empty()
    # against the last good night a release is asked for each time
    is_of_change = pl.col("rule").is_in(
        ["count_drop", "price_jump", "median_move", "currency_change", "region_lost"]
    )
    is_hard = pl.col("severity") != "soft"
    assert rows.filter(pl.col("stands_days").is_null() != (is_of_change | ~is_hard)).is_empty()
    assert rows.filter(
        pl.col("unit").is_null() & (pl.col("low").is_not_null() | pl.col("high").is_not_null())
    ).is_empty()


def test_what_normalise_finds_is_soft_as_its_rows_say() -> None:
    for rule in ("gpu_count_conflict", "gpu_name_conflict", "region_unknown"):
        assert severity(rule) == "soft"


def test_a_rule_or_a_threshold_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FactsError, match="no single row 'moon_phase'"):
        severity("moon_phase")
    with pytest.raises(FactsError, match="row_floor: low is empty"):
        limit("row_floor", "low")


# Rows of one night


def test_fewer_listings_than_usual_hold_the_source() -> None:
    findings = found(night(4), min_listings=5)
    assert findings.rows() == [
        ("demo", "row_floor", True, "listings", "4 listings, where at least 5 are usual")
    ]
    assert rules(NOTHING, min_listings=1) == [("row_floor", True)]
    assert rules(night(5), min_listings=5) == []


def test_a_reject_is_a_listing_too() -> None:
    assert rules(night(4), rejects=rejects("price_zero"), min_listings=5) == []


def pages(*counts: tuple[str, int, int]) -> pl.DataFrame:
    rows = [{"list_name": name, "declared": declared, "rows": on_page} for name, declared, on_page in counts]
    empty = dict.fromkeys(PAGE_COUNT)
    return pl.DataFrame([empty | row for row in rows], schema=PAGE_COUNT)


def test_pages_that_end_before_their_total_hold_the_source() -> None:
    short = pages(("plans", 120, 50), ("plans", 120, 50), ("disks", 7, 7))
    assert found(night(1), page_counts=short).rows() == [
        ("demo", "page_short", True, "plans", "100 rows on its pages, 120 declared")
    ]
    assert rules(night(1), page_counts=pages(("plans", 120, 100), ("plans", 120, 20), ("disks", 7, 7))) == []
    # the list grew while it was walked
    assert rules(night(1), page_counts=pages(("plans", 119, 100), ("plans", 120, 20))) == []
    assert rules(night(1), page_counts=pages(("plans", 119, 100), ("plans", 120, 19))) == [
        ("page_short", True)
    ]


# Against the last good night


def test_half_the_rows_gone_holds_the_source() -> None:
    assert rules(night(10), night(20)) == [("count_drop", True)]
    assert rules(NOTHING, night(20)) == [("count_drop", True)]


def test_a_few_rows_gone_or_come_do_not() -> None:
    assert rules(night(12), night(20)) == []
    assert rules(night(40), night(20)) == []
    assert rules(night(1), night(3)) == []  # of so few one may go any night
    assert rules(night(2), night(4)) == [("count_drop", True)]


def test_one_price_that_doubled_among_many_is_soft() -> None:
    before = frame(*(priced(number, "1") for number in range(20)))
    now = frame(priced(0, "2"), *(priced(number, "1") for number in range(1, 20)))
    findings = found(now, before)
    assert findings.select("rule", "is_hard").rows() == [("price_jump", False)]
    assert findings["subject"].to_list() == ["demo: plan-0 @ no region (on_demand)"]
    assert findings["detail"].to_list() == ["1.000000 to 2.000000 USD per hour"]


def test_many_prices_that_doubled_or_halved_hold_the_source() -> None:
    before = frame(*(priced(number, "1") for number in range(20)))
    for price in ("2", "0.5"):
        now = frame(*(priced(number, price if number < 2 else "1") for number in range(20)))
        assert sorted(rules(now, before)) == [
            ("price_jump", False),
            ("price_jump", False),
            ("price_jump", True),
        ]


def test_of_few_prices_all_must_double_to_hold_the_source() -> None:
    before = frame(*(priced(number, "1") for number in range(9)))
    now = frame(priced(0, "2"), *(priced(number, "1") for number in range(1, 9)))
    assert rules(now, before) == [("price_jump", False)]
    assert rules(now.head(1), before.head(1)) == [("price_jump", False), ("price_jump", True)]


def per_gpu(number: int, usd: str, **changes: Any) -> dict[str, Any]:
    """Returns an offer per GPU of a source that does not say how many GPUs there are."""
    unknown: dict[str, Any] = {
        "gpu_count": None,
        "price_per": "gpu",
        "price_usd_per_instance_hour": None,
        "price_gap": "GPU count not stated",
    }
    return priced(number, usd) | unknown | changes


def test_a_price_per_gpu_without_a_count_jumps_too() -> None:
    before = frame(*(per_gpu(n, "2") for n in range(4)))
    findings = found(frame(*(per_gpu(n, "20") for n in range(4))), before)
    assert findings.filter("is_hard").select("rule", "detail").rows() == [
        ("price_jump", "4 of 4 prices moved by more than 1.8 times")
    ]
    assert findings.filter(~pl.col("is_hard"))["detail"][0] == "2.000000 to 20.000000 USD per GPU-hour"
    assert rules(frame(*(per_gpu(n, "3.5") for n in range(4))), before) == []  # the control: 1.75 times


def test_a_count_that_becomes_known_is_no_jump() -> None:
    """2 USD per GPU, and 16 for the machine of eight once the source says that it has eight."""
    told = {"price_usd_per_instance_hour": Decimal(16), "gpu_count": 8.0, "price_gap": None}
    before, now = frame(per_gpu(0, "2")), frame(per_gpu(0, "2", **told))
    assert rules(now, before) == []
    assert rules(before, now) == []
    dear = frame(per_gpu(0, "4", **told | {"price_usd_per_instance_hour": Decimal(32)}))
    assert rules(dear, before) == [("price_jump", False), ("price_jump", True)]


def test_a_plan_that_jumped_in_many_regions_is_told_once() -> None:
    before = frame(*(priced(number, "1", plan="p", region_text=f"r-{number}") for number in range(30)))
    now = frame(*(priced(n, "2" if n < 2 else "1", plan="p", region_text=f"r-{n}") for n in range(30)))
    findings = found(now, before)
    assert findings.select("rule", "is_hard", "subject", "detail").rows() == [
        (
            "price_jump",
            False,
            "demo: p @ r-0 (on_demand)",
            "1.000000 to 2.000000 USD per hour; 1 more offers of the plan",
        )
    ]


def test_of_hundreds_of_plans_the_rest_is_one_finding() -> None:
    before = frame(*(priced(number, "1") for number in range(203)))
    soft = found(frame(*(priced(number, "2") for number in range(203))), before).filter(~pl.col("is_hard"))
    assert soft.height == 201
    assert soft["subject"].to_list().count("3 more plans") == 1
    before = frame(*(priced(number, "1") for number in range(200)))
    soft = found(frame(*(priced(number, "2") for number in range(200))), before).filter(~pl.col("is_hard"))
    assert soft.height == 200


def test_a_price_that_moved_little_is_no_jump() -> None:
    before = frame(*(priced(number, "1") for number in range(5)))
    assert rules(frame(*(priced(number, "1.7") for number in range(5))), before) == []
    assert rules(frame(*(priced(number, "0.6") for number in range(5))), before) == []


def test_spot_prices_are_made_to_move_and_never_hold() -> None:
    before = frame(*(priced(number, "1", purchase="spot") for number in range(5)))
    now = frame(*(priced(number, "3", purchase="spot") for number in range(5)))
    assert set(rules(now, before)) == {("price_jump", False)}


def test_a_move_of_the_exchange_rate_is_no_jump() -> None:
    before = frame(*(priced(number, "1", currency="TRY", usd_per_currency=0.1) for number in range(5)))
    now = frame(*(priced(number, "0.5", currency="TRY", usd_per_currency=0.05) for number in range(5)))
    assert rules(now, before) == []


def test_a_price_that_went_missing_is_no_jump() -> None:
    gone = offer(0, price_usd_per_instance_hour=None, price_usd_per_gpu_hour=None, price_gap="contact sales")
    assert rules(frame(gone), frame(offer(0))) == []


def names(*prices: str, **changes: Any) -> pl.DataFrame:
    """Returns an offer for each price, each of a GPU name of its own."""
    return frame(*(priced(n, usd, gpu_text=f"GPU {n}", **changes) for n, usd in enumerate(prices)))


def test_prices_that_move_together_by_the_vat_hold_the_source() -> None:
    before, now = names("1", "2", "4", "5", "10"), names("1.2", "2.4", "4.8", "6", "12")
    findings = found(now, before)
    assert findings.select("rule", "is_hard", "detail").rows() == [
        ("median_move", True, "1.2 times the last good night, median of 5 names")
    ]
    assert rules(before, now) == [("median_move", True)]


def test_a_median_that_stays_is_no_move() -> None:
    before = names("1", "2", "4", "5", "10")
    assert rules(names("1.1", "2.2", "4.4", "5.5", "11"), before) == []
    assert rules(names("1.5", "3", "4", "5", "10"), before) == []  # two of five
    assert rules(names("1.2", "2.4", "4.8", "6"), before.head(4)) == []  # of four names there is no telling
    spot = {"purchase": "spot"}
    assert rules(names("1.2", "2.4", "4.8", "6", "12", **spot), names("1", "2", "4", "5", "10", **spot)) == []


def test_a_move_is_seen_under_new_names_of_plans() -> None:
    renamed = names("1.2", "2.4", "4.8", "6", "12").with_columns(
        offering_id="new " + pl.col("offering_id"), plan="new " + pl.col("plan")
    )
    assert rules(renamed, names("1", "2", "4", "5", "10")) == [("median_move", True)]


def test_another_currency_holds_the_source() -> None:
    findings = found(frame(offer(0, currency="EUR"), offer(1)), night(2))
    assert findings.select("rule", "is_hard", "detail").rows() == [
        ("currency_change", True, "from USD to EUR")
    ]
    assert rules(night(2), night(2)) == []


def test_another_currency_is_seen_under_new_names_of_plans() -> None:
    other = frame(offer(7, currency="EUR"), offer(8, currency="EUR"))
    assert found(other, night(2)).select("rule", "is_hard", "subject", "detail").rows() == [
        ("currency_change", True, "demo", "from USD to EUR")
    ]
    assert rules(frame(offer(7, currency="EUR"), offer(1)), night(2)) == []


def regions(*numbers: int, **changes: Any) -> pl.DataFrame:
    """Returns four offers in each region, of the regions from 4 on one."""
    each = [(n, i) for n in numbers for i in range(4 if n < 4 else 1)]
    return frame(*(offer(10 * n + i, region_text=f"r-{n}", **changes) for n, i in each))


def test_a_third_of_the_regions_lost_holds_the_source() -> None:
    findings = found(regions(0, 1, 2, 3), regions(0, 1, 2, 3, 4, 5))
    assert findings.select("rule", "is_hard", "subject", "detail").rows() == [
        ("region_lost", False, "demo: r-4", "1 offerings on the last good night"),
        ("region_lost", False, "demo: r-5", "1 offerings on the last good night"),
    ]
    hard = found(regions(0, 1, 2, 3), regions(0, 1, 2, 3, 4, 5, 6)).filter("is_hard")
    assert hard.select("rule", "subject", "detail").rows() == [
        ("region_lost", "offerings", "3 of 7 regions have no offering")
    ]


def test_regions_that_come_and_go_with_what_is_free_are_soft() -> None:
    before = regions(0, 1, 2, 3, 4, 5, 6, availability="in_stock")
    assert set(rules(regions(0, 1, 2, 3), before)) == {("region_lost", False)}
    for listed in ("out_of_stock", "listed_only", "unknown"):
        before = regions(0, 1, 2, 3, 4, 5, 6, availability=listed)
        assert ("region_lost", True) in rules(regions(0, 1, 2, 3), before)


def test_a_region_more_or_one_of_three_less_does_not() -> None:
    assert rules(regions(0, 1, 2), regions(0, 1)) == []
    assert rules(regions(0, 1), regions(0, 1, 2)) == [("region_lost", False)]


def test_unknown_gpu_names_are_listed_once_each() -> None:
    unknown: dict[str, Any] = {"gpu_key": None, "gpu_candidates": [], "gpu_text": "HyperChip"}
    findings = found(frame(offer(0, **unknown), offer(1, **unknown), offer(2)))
    said = "2 offerings, such as plan-0, 1 GPUs, 1 USD per instance and hour, on_demand"
    assert findings.rows() == [("demo", "unmapped_gpu", False, "demo: HyperChip", said)]


def test_a_gpu_never_seen_before_is_called_new_with_all_that_was_said_of_it() -> None:
    unknown: dict[str, Any] = {"gpu_key": None, "gpu_candidates": []}
    old, new = offer(0, gpu_text="HyperChip", **unknown), offer(1, gpu_text="WonderChip", **unknown)
    new |= {
        "plan": "wonder.8x",
        "gpu_count": 8.0,
        "vram_gib": 192.0,
        "price_listed": Decimal("31.2500000000"),
        "currency": "EUR",
        "price_per": "instance",
        "price_unit": "hour",
        "region_text": "fr-par-2",
        "note": "preview",
    }
    findings = found(frame(old, new), frame(old))
    assert findings.select("rule", "is_hard", "subject").rows() == [
        ("new_unmapped_gpu", False, "demo: WonderChip"),
        ("unmapped_gpu", False, "demo: HyperChip"),
    ]
    assert findings["detail"][0] == (
        "1 offerings, such as wonder.8x, 8 GPUs, 192 GiB each, 31.25 EUR per instance and hour, on_demand,"
        " in fr-par-2, preview"
    )
    assert rules(frame(old), frame(old)) == [("unmapped_gpu", False)]
    # mapped last night, and no more tonight
    assert rules(frame(old), frame(offer(0, gpu_text="HyperChip"))) == [("new_unmapped_gpu", False)]


@pytest.mark.parametrize("rule", ["unmapped_gpu", "region_lost", "currency_change"])
def test_of_hundreds_of_names_the_rest_is_one_finding(rule: str) -> None:
    def nights(count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
        changes: dict[str, list[dict[str, Any]]] = {
            "unmapped_gpu": [
                {"gpu_key": None, "gpu_candidates": [], "gpu_text": f"Chip {n}"} for n in range(count)
            ],
            "region_lost": [{"region_text": f"r-{n}"} for n in range(count)],
            "currency_change": [{"provider": f"p-{n}"} for n in range(count)],
        }
        before = [offer(n, **change) for n, change in enumerate(changes[rule])]
        after = {"region_lost": {"region_text": "r-0"}, "currency_change": {"currency": "EUR"}}.get(rule, {})
        renamed = rule == "currency_change"
        now = [
            row | after | ({"offering_id": f"new {row['offering_id']}"} if renamed else {}) for row in before
        ]
        return frame(*now), frame(*before)

    def told(count: int) -> list[str]:
        findings = found(*nights(count)).filter(pl.col("rule") == rule, pl.col("subject") != "offerings")
        return findings["subject"].to_list()

    lost = 1 if rule == "region_lost" else 0  # the region that stays
    assert len(told(200 + lost)) == 200
    more = told(203 + lost)
    assert len(more) == 201
    assert sum(subject.startswith("3 more ") for subject in more) == 1


def test_what_was_said_of_a_gpu_is_cut_to_a_sane_length() -> None:
    texts: dict[str, Any] = dict.fromkeys(("plan", "form_factor_text", "region_text", "note"), "x" * 300)
    row = offer(0, gpu_key=None, gpu_candidates=[], availability_text="y" * 300, **texts)
    assert len(found(frame(row))["detail"][0]) <= 400


def test_an_ambiguous_gpu_is_not_unmapped() -> None:
    assert rules(frame(offer(0, gpu_key=None, gpu_candidates=["H100-PCIE-80GB", "H100-SXM5-80GB"]))) == []


def rejects(*reasons: str) -> pl.DataFrame:
    row = dict.fromkeys(REJECT) | {"source_id": "demo", "plan": "p1"}
    return pl.DataFrame([row | {"reason": reason} for reason in reasons], schema=REJECT)


def test_duplicates_are_reported_in_one_line() -> None:
    twice = rejects("duplicate", "duplicate", "price_zero")
    assert found(night(10), rejects=twice).rows() == [
        ("demo", "key_duplicates", False, "listings", "2 listings say the same, such as p1")
    ]
    assert rules(night(10), rejects=rejects("price_zero")) == []


def test_a_list_that_was_read_twice_holds_the_source() -> None:
    both = rules(night(12), rejects=rejects(*["duplicate"] * 8))  # 8 of 20
    assert both == [("key_duplicates", False), ("key_duplicates", True)]
    assert rules(night(13), rejects=rejects(*["duplicate"] * 7)) == [("key_duplicates", False)]
    assert rules(night(2), rejects=rejects(*["duplicate"] * 2)) == [("key_duplicates", False)]


def test_eight_for_the_price_of_one() -> None:
    eight = priced(8, "1", gpu_count=8.0)
    assert rules(frame(offer(0), eight)) == [("eight_gpu_price_equals_one", False)]  # one alone holds nothing
    assert set(rules(frame(offer(0), eight, priced(9, "1", gpu_count=8.0)))) == {
        ("eight_gpu_price_equals_one", False),
        ("eight_gpu_price_equals_one", True),
    }
    assert rules(frame(offer(0), priced(8, "7", gpu_count=8.0))) == []
    assert rules(frame(offer(0, region_text="elsewhere"), eight)) == []


def test_one_of_many_plans_of_eight_for_the_price_of_one_is_soft() -> None:
    ones = [offer(n, region_text=f"r-{n}") for n in range(4)]
    right = [offer(10 + n, gpu_count=8.0, region_text=f"r-{n}") for n in range(4)]
    right = [row | {"price_usd_per_instance_hour": Decimal(8)} for row in right]
    wrong = [offer(20 + n, gpu_count=8.0, region_text=f"r-{n}") for n in range(2)]
    assert rules(frame(*ones, *wrong[:1], *right[1:])) == [("eight_gpu_price_equals_one", False)]
    assert ("eight_gpu_price_equals_one", True) in rules(frame(*ones, *wrong, *right[2:]))


def test_a_price_that_is_the_count() -> None:
    assert rules(frame(priced(8, "8", gpu_count=8.0))) == [("price_equals_count", False)]
    assert rules(frame(priced(1, "1", gpu_count=1.0))) == []


def test_a_column_read_one_too_far_holds_the_source() -> None:
    shifted = [
        priced(n, str(n), gpu_count=float(n), gpu_candidates=[f"GPU-{n % 2}"], gpu_key=None)
        for n in (2, 3, 4, 5)
    ]
    assert ("price_equals_count", True) in rules(frame(*shifted))
    right = [priced(10 + n, "7.5", gpu_count=float(n)) for n in (2, 3, 4, 5, 6)]
    assert set(rules(frame(*shifted, *right))) == {("price_equals_count", False)}  # 4 of 9
    # a lowest bid of one dollar for any GPU
    assert rules(frame(*(row | {"price_state": "bid_floor"} for row in shifted))) == []
    # one GPU at one dollar
    dollar = [priced(n, str(n), gpu_count=float(n)) for n in (2, 4, 8, 16)]
    assert set(rules(frame(*dollar))) == {("price_equals_count", False)}


def spots(dear: int, fair: int) -> pl.DataFrame:
    gap = {"price_gap": SPOT_GAP, "price_usd_per_gpu_hour": None, "price_usd_per_instance_hour": None}
    rows = [offer(n, purchase="spot", **(gap if n < dear else {})) for n in range(dear + fair)]
    return frame(*rows)


def test_spot_and_on_demand_that_are_swapped_hold_the_source() -> None:
    assert found(spots(3, 3)).rows() == [
        (
            "demo",
            "spot_not_below_on_demand",
            True,
            "spot offerings",
            "3 of 6 spot prices are not below on-demand",
        )
    ]
    assert rules(spots(2, 4)) == []
    assert rules(spots(2, 1)) == []
    assert rules(spots(2, 0)) == [("spot_not_below_on_demand", True)]
    assert rules(spots(1, 0)) == []


def committed(number: int, on_demand: str, reserved: str, **changes: Any) -> list[dict[str, Any]]:
    """Returns one plan on demand and with a commitment of a year."""
    same: dict[str, Any] = {"plan": f"plan-{number}"}
    term: dict[str, Any] = {"purchase": "reserved", "term_months": 12}
    return [
        priced(number, on_demand, **{**same, **changes}),
        priced(100 + number, reserved, **{**same, **term}),
    ]


def test_an_on_demand_price_that_is_one_of_a_commitment() -> None:
    assert found(frame(*committed(0, "1.5", "1.5"), *committed(1, "2", "1.5"))).rows() == [
        (
            "demo",
            "committed_in_on_demand",
            False,
            "demo: plan-0 @ no region (on_demand)",
            "1.500000 USD per hour, 1.500000 with a commitment",
        )
    ]
    assert rules(frame(*committed(0, "1.51", "1.5"))) == []
    # elsewhere, and paid in part before
    assert rules(frame(*committed(0, "1.5", "1.5", region_text="elsewhere"))) == []
    both = committed(0, "1.5", "1.5")
    assert rules(frame(both[0], both[1] | {"upfront_listed": Decimal(100)})) == []
    # a second commitment for less
    assert rules(frame(*both, committed(0, "1.5", "1.2")[1] | {"offering_id": "b", "term_months": 36})) == []


@pytest.mark.parametrize(
    "text",
    [
        "1-year reserved",
        "36 months",
        "Committed use",
        "as low as $1.99",
        "price with 3 year term",
        "reservation",
    ],
)
@pytest.mark.parametrize("column", ["product", "plan", "availability_text", "note"])
def test_words_of_a_commitment_in_on_demand(text: str, column: str) -> None:
    others = [offer(n) for n in range(1, 10)]
    assert rules(frame(offer(0, **{column: text}), *others)) == [("committed_in_on_demand", False)]
    reserved = {"purchase": "reserved", "term_months": 12}
    assert rules(frame(offer(0, **{column: text}, **reserved), *others)) == []
    assert rules(frame(offer(0, **{column: text}, price_state="from_price"), *others)) == []


@pytest.mark.parametrize(
    "text",
    [
        "no commitment",
        "without any commitment",
        "not reserved",
        "billed by the second",
        "12 vCPUs",
        "1 year old",
    ],
)
def test_words_that_deny_a_commitment(text: str) -> None:
    others = [offer(n) for n in range(1, 10)]
    expected = [("committed_in_on_demand", False)] if text == "1 year old" else []
    assert rules(frame(offer(0, note=text), *others)) == expected


def test_one_offer_does_not_hold_a_source_in_its_first_night() -> None:
    soft = [("committed_in_on_demand", False)]
    assert rules(frame(offer(0, plan="reserved"))) == soft
    both = frame(offer(0, plan="reserved"), offer(1, plan="reserved too"))
    assert ("committed_in_on_demand", True) in rules(both)


@pytest.mark.parametrize("column", ["note", "availability_text"])
def test_words_beside_the_plan_do_not_hold_a_source(column: str) -> None:
    text = "also on 1-year terms from sales"
    beside = frame(*(offer(n, **{column: text}) for n in range(6)))
    assert set(rules(beside)) == {("committed_in_on_demand", False)}
    # the control: the same words are the name of the product
    named = frame(*(offer(n, product=text) for n in range(6)))
    assert ("committed_in_on_demand", True) in rules(named)


def test_a_price_per_gpu_is_held_against_the_commitment_per_gpu() -> None:
    def both(on_demand: str, reserved: str) -> list[tuple[str, bool]]:
        term: dict[str, Any] = {"plan": "plan-0", "purchase": "reserved", "term_months": 12}
        return rules(frame(per_gpu(0, on_demand), per_gpu(1, reserved, **term)))

    assert both("1.5", "1.5") == [("committed_in_on_demand", False)]
    assert both("1.51", "1.5") == []


def test_a_list_of_commitments_read_as_on_demand_holds_the_source() -> None:
    rows = frame(*(row for n in range(3) for row in committed(n, "1.5", "1.5")), *night(9)[6:].to_dicts())
    assert rules(rows).count(("committed_in_on_demand", True)) == 1  # 3 of 6
    rows = frame(*(row for n in range(2) for row in committed(n, "1.5", "1.5")), *night(9)[6:].to_dicts())
    assert set(rules(rows)) == {("committed_in_on_demand", False)}  # 2 of 5


# Against the market


def market(odd: str, others: int = 6, **changes: Any) -> pl.DataFrame:
    return frame(priced(99, odd, **changes), *(priced(number, "1") for number in range(others)))


def test_a_price_far_from_its_market_cannot_lead() -> None:
    cheap = market("0.1")
    assert rules(cheap) == [("price_outside_market_band", False)]
    assert outside_market_band(cheap) == {f"{99:016x}"}
    assert outside_market_band(market("5.5")) == {f"{99:016x}"}


def test_a_price_near_its_market_can_lead() -> None:
    for price in ("0.2", "0.5", "5"):
        assert outside_market_band(market(price)) == frozenset()


def test_a_few_offers_make_no_market() -> None:
    assert outside_market_band(market("0.1", others=4)) == frozenset()
    assert outside_market_band(market("0.1", others=5)) == {f"{99:016x}"}


def test_markets_are_not_mixed() -> None:
    others: list[dict[str, Any]] = [{"segment": "peer_host"}, {"purchase": "spot"}, {"gpu_key": "T4-16GB"}]
    for other in others:
        assert outside_market_band(market("0.1", **other)) == frozenset()


def test_what_has_no_price_of_its_own_is_in_no_market() -> None:
    others: list[dict[str, Any]] = [
        {"price_state": "bid_floor"},
        {"price_state": "from_price"},
        {"gpu_key": None},
    ]
    for other in others:
        assert outside_market_band(market("0.1", **other)) == frozenset()
    assert outside_market_band(NOTHING) == frozenset()


def of_others(count: int = 5, usd: str = "2", **changes: Any) -> pl.DataFrame:
    """Returns the market that so many other providers make, each with one L4."""
    rows = [priced(n, usd, source_id=f"other-{n}", provider=f"other-{n}", **changes) for n in range(count)]
    return market_of(frame(*rows))


def dear(count: int, usd: str, **changes: Any) -> pl.DataFrame:
    return frame(*(priced(n, usd, **changes) for n in range(count)))


@pytest.mark.parametrize("factor", ["60", "730", "100", "8"])
def test_a_source_that_reads_every_price_wrong_is_held_in_its_first_night(factor: str) -> None:
    many_times = dear(6, str(2 * Decimal(factor)))
    hard = found(many_times, market=of_others()).filter("is_hard")
    assert hard.select("rule", "subject", "detail").rows() == [
        ("price_outside_market_band", "offerings", "6 of 6 prices are far from what others ask")
    ]
    too_little = dear(6, f"{2 / Decimal(factor):.6f}")
    assert ("price_outside_market_band", True) in rules(too_little, market=of_others())
    assert rules(many_times) == []  # it agrees with itself


def test_a_source_at_the_edge_of_its_market_is_not_held() -> None:
    for usd in ("2", "0.4", "10"):
        assert rules(dear(6, usd), market=of_others()) == []
    for usd in ("0.39", "10.01"):
        assert ("price_outside_market_band", True) in rules(dear(6, usd), market=of_others())


def test_some_odd_prices_among_good_ones_are_soft() -> None:
    rows = frame(*(priced(n, "20" if n < 2 else "2") for n in range(5)))
    assert found(rows, market=of_others()).select("rule", "is_hard", "detail").rows() == [
        ("price_outside_market_band", False, "20.000000 USD per GPU-hour, median 2"),
        ("price_outside_market_band", False, "20.000000 USD per GPU-hour, median 2"),
    ]


def test_one_purchase_kind_that_is_wrong_holds_the_source() -> None:
    market = pl.concat([of_others(), of_others(purchase="reserved")])
    reserved = [priced(100 + n, "60", purchase="reserved", term_months=12) for n in range(5)]
    right = [priced(n, "2.5") for n in range(20)]
    hard = found(frame(*right, *reserved), market=market).filter("is_hard")
    assert hard["subject"].to_list() == ["reserved offerings"]
    assert found(frame(*right, *reserved[:4]), market=market).filter("is_hard").is_empty()


def test_few_others_make_no_market() -> None:
    assert rules(dear(6, "120"), market=of_others(4)) == []
    # one provider in many sources is one
    same = of_others().with_columns(provider=pl.lit("other"))
    assert rules(dear(6, "120"), market=same) == []


def test_own_prices_make_no_market_for_a_hard_finding() -> None:
    own = of_others().with_columns(source_id=pl.lit("demo"))
    assert rules(dear(6, "120"), market=own) == []


def test_the_market_of_the_own_segment_goes_before_that_of_all() -> None:
    peers = of_others(5, "0.2", segment="peer_host").with_columns(provider="peer " + pl.col("provider"))
    both = pl.concat([of_others(), peers])
    assert rules(dear(6, "0.3"), market=both) == [  # the neoclouds ask 2
        *[("price_outside_market_band", False)] * 6,
        ("price_outside_market_band", True),
    ]
    assert rules(dear(6, "0.3", segment="peer_host"), market=both) == []
    # resellers are five too few: the median of all ten is 1.1
    assert rules(dear(6, "0.3", segment="reseller"), market=both) == []
    assert ("price_outside_market_band", True) in rules(dear(6, "0.2", segment="reseller"), market=both)


def test_a_name_of_several_gpus_is_odd_only_if_it_is_so_for_each() -> None:
    market = pl.concat([of_others(), of_others(5, "20", gpu_key="H100-SXM5-80GB")])
    either: dict[str, Any] = {"gpu_key": None, "gpu_candidates": ["L4-24GB", "H100-SXM5-80GB"]}
    assert rules(dear(6, "60", **either), market=market) == []  # 30 x the one, 3 x the other
    assert ("price_outside_market_band", True) in rules(dear(6, "101", **either), market=market)
    # where only one of them has a market, it decides
    assert ("price_outside_market_band", True) in rules(dear(6, "60", **either), market=of_others())


def test_the_market_counts_each_provider_once() -> None:
    rows = [priced(n, "9", source_id="big", provider="big") for n in range(50)]
    rows += [priced(100 + n, "2", source_id=f"o{n}", provider=f"o{n}") for n in range(5)]
    market = market_of(frame(*rows))
    assert market.height == 6
    assert market.filter(pl.col("provider") == "big")["usd_per_gpu_hour"].to_list() == [9.0]
    assert rules(dear(6, "0.4"), market=market) == []  # the median is 2


def test_what_is_no_price_makes_no_market() -> None:
    for change in ({"price_state": "bid_floor"}, {"gpu_key": None}, {"price_usd_per_gpu_hour": None}):
        assert market_of(frame(offer(0, **change))).is_empty()
