"""What an expert expects of the ranking on the bundled prices: GPU classes and ratios, never providers or dollars."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files

import polars as pl
import pytest
from conftest import NIGHT

from scrapers.contract import Payload
from scrapers.providers import list_prices
from transforms.offers.listings import listing_frame
from transforms.offers.market import outside_market_band
from transforms.offers.normalise import normalise
from transforms.workloads.hardware import hardware
from transforms.workloads.jobs import job, tier_jobs
from transforms.workloads.performance import performance
from transforms.workloads.ranking import Ranked, rank

CONSUMER = r"^(RTX[345]0[6789]0|GTX)"
DATA_CENTRE = r"^(A30|A40|L4|A10|A10G|L40|L40S|A100|H100|H200|GH200|B200|B300|MI)"
PRIVATE_HOSTS = ("peer_host", "marketplace")
SMALL_CARDS = r"^((T4|L4|A10|A30|A40|L40|L40S)-|RTX|TITAN)"


@lru_cache
def bundled() -> pl.DataFrame:
    """Returns the offerings of the bundled prices: on demand and spot, in USD, read by ourselves."""
    body = files("scrapers.bundled").joinpath("list_prices.csv").read_bytes()
    request = list_prices.SOURCE.requests[0]
    fetched_at = datetime(2026, 11, 30, 3, tzinfo=UTC)
    payload = Payload(
        source_id="list_prices", part=request.part, url=request.url, fetched_at=fetched_at, body=body
    )
    found = listing_frame(list_prices.parse(payload), payload)
    offers = normalise(
        found.listings,
        found.stock,
        found.interruptions,
        rates=found.rates,
        night=NIGHT,
        segments={"list_prices": None},  # each row is of the segment of its provider
    ).offerings
    return offers.filter(pl.col("purchase").is_in(["on_demand", "spot"]), currency="USD").filter(
        pl.col("evidence") != "second_hand"
    )


@lru_cache
def all_tiers() -> Ranked:
    offers, jobs = bundled(), tier_jobs()
    return rank(offers, jobs, performance(jobs, hardware(offers)), night=NIGHT, has_live_price=False)


def table(tier_id: str) -> pl.DataFrame:
    """Returns the ranked offers of a tier by place, with what the offer is."""
    return with_offers(all_tiers().ranking.filter(pl.col("tier_id") == tier_id), bundled())


def with_offers(ranking: pl.DataFrame, offers: pl.DataFrame) -> pl.DataFrame:
    what = ("gpu_candidates", "gpu_count", "link", "purchase", "segment", "price_usd_per_instance_hour")
    return (
        ranking.join(offers.select("offering_id", *what), on="offering_id")
        .with_columns(
            gpu=pl.col("gpu_candidates").list.join("|"),
            price=pl.col("price_usd_per_instance_hour").cast(pl.Float64),
        )
        .sort("rank")
    )


def first(rows: pl.DataFrame) -> dict[str, object]:
    return rows.row(0, named=True)


def layout(tier_id: str, gpu: str, gpus: int, link: str = "nvlink", **changes: object) -> dict[str, object]:
    """Returns the PERFORMANCE row of one copy over all GPUs of a machine, in a tier with some fields changed."""
    machine = (
        bundled()
        .head(1)
        .with_columns(
            gpu_candidates=pl.lit([gpu]),
            gpu_count=pl.lit(float(gpus)),
            link=pl.lit(link if gpus > 1 else "none"),
            vram_gib=pl.lit(None, pl.Float64),
            fabric_gbps=pl.lit(None, pl.Float64),
        )
    )
    rows = performance(job(tier_id, **changes), hardware(machine))
    return rows.row(by_predicate=pl.col("gpus_per_replica") == gpus, named=True)


def is_gpu(pattern: str) -> pl.Expr:
    """Whether all that the name may stand for is of the pattern."""
    return pl.col("gpu_candidates").list.eval(pl.element().str.contains(pattern)).list.all()


def test_every_tier_has_a_winner_but_the_one_whose_fabric_nobody_states() -> None:
    result = all_tiers()
    winners = set(result.ranking.filter(pl.col("rank") == 1)["tier_id"])
    assert set(tier_jobs()["tier_id"]) - winners == {"pre-7b-1t"}
    counted = pl.concat([result.ranking.select("tier_id"), result.exclusions.select("tier_id")])
    assert counted["tier_id"].value_counts()["count"].unique().to_list() == [bundled().height]


def test_1_chat_70b() -> None:
    rows = table("rt-chat-70b")
    assert rows.filter(is_gpu(SMALL_CARDS)).is_empty()
    winner = first(rows)
    assert winner["gpu_count"] == 1
    assert rows.head(1).filter(is_gpu("^(GH200|H200|H100-NVL|B200|B300|MI3)")).height == 1


def test_2_qlora_8b() -> None:
    rows = table("qlora-8b")
    winner = rows.head(1)
    assert winner.filter(is_gpu(CONSUMER) & (pl.col("gpu_count") == 1)).height == 1
    assert winner.filter(is_gpu("-24GB$")).height == 1
    assert rows.filter(pl.col("gpu_count") >= 8).is_empty()
    cards = rows.filter(is_gpu(DATA_CENTRE), ~pl.col("segment").is_in(PRIVATE_HOSTS))
    is_small = is_gpu("-(16|20|24|32|48)GB$")
    is_spot = is_gpu("^(A100|H100)") & (pl.col("purchase") == "spot")
    assert cards.head(1).filter(is_small | is_spot, pl.col("gpu_count") == 1).height == 1
    assert 1.5 <= cards["total_usd"][0] / winner["total_usd"][0] <= 4


def test_3_voice_32b() -> None:
    rows = table("rt-voice-32b")
    assert rows.filter(pl.col("purchase") == "spot").is_empty()
    assert rows.head(1).filter(is_gpu("^(H100|GH200|H200|MI300X)") & (pl.col("gpu_count") == 1)).height == 1
    assert rows.filter(is_gpu("^L40S"), pl.col("gpus_per_replica") == 2).is_empty()
    assert layout("rt-voice-32b", "L40S-48GB", 2, "pcie", required_fabric="any")["reason"] == "speed"
    assert set(rows.filter(is_gpu("^H100-PCIE"), pl.col("gpus_per_replica") == 1)["certainty"]) <= {"likely"}


def test_4_one_long_context() -> None:
    rows = table("long-70b-128k-one")
    assert rows.filter(is_gpu("-(80|96)GB$"), pl.col("gpus_per_replica") == 1).is_empty()
    assert rows.head(1).filter(is_gpu("^(H200|GH200-144GB|B200|B300|MI3)")).height == 1
    h200 = layout("long-70b-128k-one", "H200-SXM-141GB", 1, "none")
    assert h200["verdict"] == "fits"
    assert h200["state_gib"] / h200["need_gib"] >= 0.3


def test_5_reasoning_670b() -> None:
    rows = table("reason-670b-fp8")
    assert rows.filter(is_gpu("^(A100|H100)"), pl.col("gpu_count") == 8).is_empty()
    lost = (
        all_tiers()
        .exclusions.filter(pl.col("tier_id") == "reason-670b-fp8")
        .join(bundled(), on="offering_id")
    )
    node = lost.filter(is_gpu("^(A100-SXM4-80GB|H100-SXM5)"), pl.col("gpu_count") == 8, purchase="on_demand")
    node = node.filter(price_state="priced", link="nvlink")
    assert set(node["reason"]) == {"memory"}
    for gpu in ("^H200", "^MI300X", "^B200"):
        assert rows.filter(is_gpu(gpu), pl.col("gpu_count") == 8).height, gpu


def test_6_team_assistant() -> None:
    rows = table("text-8b-int4-team")
    assert rows.filter(is_gpu("-16GB$")).is_empty()
    assert rows.head(1).filter(is_gpu("-24GB$"), pl.col("price") < 0.5).height == 1
    classes = rows.unique("gpu", keep="first", maintain_order=True)["gpu"].head(10)
    assert not classes.str.contains("^H100").any()
    h100, card = (
        rows.filter(is_gpu(gpu), pl.col("gpu_count") == 1)["speed"][0]
        for gpu in ("^H100-SXM", "^RTX3090-24GB")
    )
    assert h100 / card >= 3 * 0.75


def on_sixteen_gb(users: int) -> str:
    """Returns the verdict of so many users of the tier on one card of 16 GB."""
    asked = job("text-8b-int4-team", concurrent_users=float(users))
    machine = bundled().filter(is_gpu("^RTXA4000-16GB"), pl.col("gpu_count") == 1)
    row = performance(asked, hardware(machine)).row(0, named=True)
    base, of_a_user = row["need_gib"] - row["state_gib"], row["state_gib"] / row["sequences_in_flight"]
    load = (base + users * of_a_user) / row["usable_gib"]
    return "fits" if load <= 0.92 else "tight" if load <= 0.97 else "does_not_fit"


def test_6_sixteen_gb_fail_by_the_cache() -> None:
    """Eight users of 8,192 tokens are too many for 16 GB, four fit; weights alone would."""
    assert (on_sixteen_gb(8), on_sixteen_gb(4)) == ("does_not_fit", "fits")
    row = layout("text-8b-int4-team", "RTXA4000-16GB", 1)
    assert float(str(row["weights_gib"])) + float(str(row["runtime_gib"])) < 16 * 0.7


@pytest.mark.xfail(strict=True, reason="a small card now keeps less runtime, so that six users fit on 16 GB")
def test_6_six_users_are_tight_on_sixteen_gb() -> None:
    assert on_sixteen_gb(6) == "tight"


def test_7_office_assistant() -> None:
    rows = table("text-14b-bf16-office")
    assert rows.head(1).filter(is_gpu("-48GB$")).height == 1
    assert rows.filter(is_gpu("-(24|32)GB$"), pl.col("gpu_count") == 1, pl.col("instances") == 1).is_empty()
    big = rows.filter(is_gpu("-80GB$"))
    assert big["total_usd"][0] / rows["total_usd"][0] >= 1.8


def test_8_company_assistant() -> None:
    rows = table("text-27b-fp8-company")
    assert (
        rows.head(1).filter(is_gpu("^(RTXPRO6000|H100|H200|GH200)"), pl.col("gpus_rented") == 1).height == 1
    )
    assert rows.filter(is_gpu("^L40S")).filter(pl.col("gpus_rented") < 2).is_empty()
    a100 = rows.filter(is_gpu("^A100.*-80GB"), pl.col("gpu_count") == 1)
    assert set(a100["replicas"]) == {2.0}


def test_9_long_code() -> None:
    assert (
        table("long-code-35b-128k")
        .head(1)
        .filter(is_gpu("-(80|94|96)GB$"), pl.col("gpus_rented") == 1)
        .height
        == 1
    )
    dense = job("long-code-35b-128k", model_id="llama-3.3-70b", max_gpus=8.0)
    rows = rank(
        bundled(), dense, performance(dense, hardware(bundled())), night=NIGHT, has_live_price=False
    ).ranking
    assert rows["total_usd"][0] / table("long-code-35b-128k")["total_usd"][0] >= 5


def test_10_batch_8b() -> None:
    rows = table("batch-8b-fp8")
    assert rows.head(2).filter(is_gpu(CONSUMER)).height == 2
    h100 = rows.filter(is_gpu("^H100"), purchase="on_demand")
    assert h100["objective_usd"][0] / rows["objective_usd"][0] >= 2.5
    data_centre = rows.filter(~pl.col("segment").is_in(PRIVATE_HOSTS))
    assert set(data_centre.head(3)["purchase"]) == {"spot"}


@pytest.mark.xfail(
    strict=True, reason="eight MI300X on spot are third: more tokens/s than their price is higher"
)
def test_10_a_third_consumer_card_follows() -> None:
    assert table("batch-8b-fp8").head(3).filter(is_gpu(CONSUMER)).height == 3


def test_10_the_expectation_fails_on_an_absurd_price() -> None:
    """The control of all these tests: with H100 at a hundredth of its price no consumer card leads."""
    price = pl.col("price_usd_per_instance_hour")
    cheap = pl.when(is_gpu("^H100")).then(price * 0.01).otherwise(price).cast(pl.Decimal(18, 6))
    offers = bundled().with_columns(price_usd_per_instance_hour=cheap)
    job = tier_jobs().filter(tier_id="batch-8b-fp8")
    ranking = rank(offers, job, performance(job, hardware(offers)), night=NIGHT, has_live_price=False).ranking
    assert with_offers(ranking, offers).head(3).filter(is_gpu(CONSUMER)).is_empty()


def test_11_images_in_batch() -> None:
    rows = table("img-12b-batch")
    assert rows.filter(is_gpu("-(24|32)GB$")).is_empty()
    assert rows.head(1).filter(is_gpu("-(48|96)GB$|^H100")).height == 1
    on_demand = rows.filter(purchase="on_demand").head(1)
    assert on_demand.filter(is_gpu("^(RTXA6000|L40|RTXPRO6000|L40S)")).height == 1


def test_12_an_image_while_one_waits() -> None:
    rows = table("img-6b-ui")
    classes = rows.unique("gpu", keep="first", maintain_order=True)["gpu"].head(8)
    assert not classes.str.contains("^(H100|H200|B200)").any()
    assert rows.filter(is_gpu("^RTX[34]090-24GB")).is_empty()
    for gpu in ("RTX3090-24GB", "RTX4090-24GB"):
        row = layout("img-6b-ui", gpu, 1)
        assert (row["verdict"], row["load_ratio"]) == ("tight", pytest.approx(0.94, abs=0.02)), gpu
    assert float(str(layout("img-6b-ui", "RTX3090-24GB", 1)["speed"])) > 8
    # three to four times as fast as asked, within the 25 % of every speed here, or more
    assert 8 / float(str(layout("img-6b-ui", "H100-SXM5-80GB", 1)["speed"])) >= 3 * 0.75


def test_13_video_within_45_seconds() -> None:
    rows = table("vid-14b-480p-fast")
    assert rows.filter(is_gpu("^(A100|H100|H200|B200|B300)"), pl.col("gpu_count") == 1).is_empty()
    assert rows.filter(link="pcie").is_empty()
    assert rows.head(1).filter(pl.col("link").is_in(["nvlink", "xgmi"]), pl.col("gpu_count") > 1).height == 1


def test_14_music() -> None:
    rows = table("music-song-batch")
    assert rows.head(5).filter(is_gpu("^(A100|A30|H100|H200|GH200|B200|B300|MI3)")).is_empty()
    # an unknown price of traffic moves an offer whatever its GPU: of known bills, price and speed decide
    known = rows.filter(~pl.col("is_lower_bound"))
    cards = known.filter(is_gpu("^RTX4090"), pl.col("gpu_count") == 1)
    assert cards.height
    for card in cards.to_dicts():
        dear = known.filter(is_gpu("^A100"), pl.col("gpu_count") == 1, pl.col("price") > 0.8 * card["price"])
        same_way = dear.filter(purchase=card["purchase"])
        assert (same_way["rank"] > card["rank"]).all()


OLD_CARD = "a V100 on spot at $0.085 an hour: old, and by its rates much sound for the money"


@pytest.mark.xfail(strict=True, reason=OLD_CARD)
def test_14_no_old_hbm_card_is_among_the_first_five() -> None:
    assert table("music-song-batch").head(5).filter(is_gpu("^(V100|P100)")).is_empty()


def test_15_a_consumer_card_transcribes_cheapest() -> None:
    assert table("asr-batch-1000h").head(1).filter(is_gpu(CONSUMER)).height == 1


def test_15_transcription() -> None:
    rows = table("asr-batch-1000h")
    assert rows.head(2).filter(is_gpu(CONSUMER)).height
    h100 = rows.filter(is_gpu("^H100"), purchase="on_demand")
    assert h100["objective_usd"][0] / rows["objective_usd"][0] >= 3


def test_16_qlora_70b() -> None:
    rows = table("qlora-70b")
    assert rows.filter(is_gpu("-(24|32|48)GB$"), pl.col("gpu_count") == 1).is_empty()
    assert rows.head(3).filter(is_gpu("-(80|94|96|1..|2..)GB$"), pl.col("gpus_rented") == 1).height == 3
    near = all_tiers().exclusions.filter("is_near_miss", pl.col("tier_id") == "qlora-70b")
    misses = bundled().filter(pl.col("offering_id").is_in(near["offering_id"].implode()))
    assert misses.filter(is_gpu("-48GB$")).height
    assert set(near["reason"]) == {"memory"}


def test_16_what_lets_a_48_gb_card_in() -> None:
    """46.8 GiB, 44.3 with a chunked loss, 42.3 with the 512 tokens of the paper."""
    for change, need_gib in (({}, 46.8), ({"seq_len": 512.0}, 42.3)):
        asked = job("qlora-70b", **change)
        need = performance(asked, hardware(bundled().filter(is_gpu("^L40S"), pl.col("gpu_count") == 1)))[
            "need_gib"
        ]
        assert need[0] == pytest.approx(need_gib, rel=0.02)


def test_16_near_misses_name_the_chunked_loss() -> None:
    near = all_tiers().exclusions.filter("is_near_miss", pl.col("tier_id") == "qlora-70b")
    assert near["detail"].str.contains("chunked").any()


def test_17_full_8b() -> None:
    rows = table("full-8b").filter(purchase="on_demand")
    assert rows.filter(is_gpu("^(A100-SXM4-80GB|H100-SXM5-80GB)"), pl.col("gpus_rented") == 2).is_empty()
    assert rows["gpus_rented"][0] == 1
    assert set(rows.filter(is_gpu("^(B200|MI300X)"), pl.col("gpus_rented") == 1)["verdict"]) == {"fits"}
    for gpu in ("B200-SXM-180GB", "MI300X-192GB"):
        assert layout("full-8b", gpu, 1)["load_ratio"] == pytest.approx(0.75, abs=0.08)
    for gpu in ("A100-SXM4-80GB", "H100-SXM5-80GB"):
        assert layout("full-8b", gpu, 2)["verdict"] == "tight"
    nodes = rows.filter(pl.col("gpu_count") == 8, pl.col("link").is_in(["nvlink", "xgmi"]))
    assert rows["total_usd"][0] < nodes["total_usd"].min()


def test_18_full_70b() -> None:
    rows = table("full-70b")
    assert rows.filter(is_gpu("^(H100|H200)"), pl.col("gpus_rented") == 8).is_empty()
    assert rows.head(1).filter(is_gpu("^(B200|B300|MI3)"), pl.col("instances") == 1).height == 1
    lost = all_tiers().exclusions.filter(pl.col("tier_id") == "full-70b").join(bundled(), on="offering_id")
    nodes = lost.filter(
        is_gpu("^H200"), pl.col("gpu_count") == 8, purchase="on_demand", price_state="priced", link="nvlink"
    )
    assert nodes.height
    assert set(nodes.select("reason", "is_unknown").rows()) == {("fabric", True)}


def test_19_pretraining_says_what_is_missing() -> None:
    assert table("pre-7b-1t").is_empty()
    excluded = all_tiers().exclusions.filter(pl.col("tier_id") == "pre-7b-1t")
    assert ("fabric", True) in excluded.select("reason", "is_unknown").rows()
    details = excluded.filter(reason="fabric", is_unknown=True)["detail"]
    assert details.str.contains("does not say what joins").all()


def test_no_link_of_another_kind_is_nearly_the_right_one() -> None:
    """No bundled offer states a rate between nodes, so none misses a fabric by a share."""
    lost = all_tiers().exclusions.filter(reason="fabric", is_unknown=False)
    assert set(lost["tier_id"]) >= {"pre-7b-1t", "pre-1b7-100b"}
    assert lost.filter(pl.col("margin_ratio").is_not_null() | pl.col("is_near_miss")).is_empty()


def test_19_pretraining_on_64_cards_with_a_stated_fabric() -> None:
    node = (
        bundled()
        .filter(is_gpu("^H100-SXM5"), pl.col("gpu_count") == 8, purchase="on_demand", link="nvlink")
        .head(1)
    )
    for usd_per_gpu_hour, expected_usd in ((2.00, 64_000), (3.50, 111_000)):
        hour = usd_per_gpu_hour * 8
        offer = node.with_columns(
            fabric_gbps=pl.lit(3200.0),
            price_state=pl.lit("priced"),
            price_usd_per_instance_hour=pl.lit(hour).cast(node.schema["price_usd_per_instance_hour"]),
        )
        job = tier_jobs().filter(tier_id="pre-7b-1t")
        row = first(
            rank(offer, job, performance(job, hardware(offer)), night=NIGHT, has_live_price=False).ranking
        )
        assert row["gpus_rented"] == 64
        assert row["total_usd"] == pytest.approx(expected_usd, rel=0.25)


def test_19_a_year_of_64_cards_loses_and_small_cards_are_out() -> None:
    """A month of a term is used, twelve are paid."""
    node = (
        bundled()
        .filter(is_gpu("^H100-SXM5"), pl.col("gpu_count") == 8, purchase="on_demand", link="nvlink")
        .head(1)
        .with_columns(fabric_gbps=pl.lit(3200.0), price_state=pl.lit("priced"))
    )
    hour = node.schema["price_usd_per_instance_hour"]
    node = node.with_columns(price_usd_per_instance_hour=pl.lit(24).cast(hour))
    year = node.with_columns(
        offering_id=pl.lit("year"),
        purchase=pl.lit("reserved"),
        term_months=pl.lit(12, pl.Int32),
        price_usd_per_instance_hour=pl.lit(12).cast(hour),
    )
    small = [
        node.with_columns(
            offering_id=pl.lit(gpu),
            gpu_candidates=pl.lit([gpu]),
            link=pl.lit("pcie"),
            vram_gib=pl.lit(None, pl.Float64),
        )
        for gpu in ("RTX5090-32GB", "RTXPRO6000-SE-96GB", "H100-PCIE-80GB")
    ]
    offers = pl.concat([node, year, *small])
    asked = tier_jobs().filter(tier_id="pre-7b-1t")
    result = rank(offers, asked, performance(asked, hardware(offers)), night=NIGHT, has_live_price=False)
    ranked = result.ranking.sort("rank")
    assert ranked["offering_id"].to_list() == [node["offering_id"][0], "year"]
    assert ranked["total_usd"][1] > 3 * ranked["total_usd"][0]
    assert set(result.exclusions["reason"]) == {"fabric"}


def test_20_the_band_of_a_market_catches_the_row() -> None:
    """A community MI300X at 0.50 lies below a fifth of the median of its purchase kind and segment."""
    low = (
        bundled()
        .filter(is_gpu("^MI300X"), purchase="on_demand")
        .filter(pl.col("price_usd_per_gpu_hour").cast(pl.Float64) <= 0.5)
    )
    assert low.height
    assert set(low["price_state"]) <= {"bid_floor", "from_price"} or set(
        low["offering_id"]
    ) <= outside_market_band(bundled())


def test_20_bad_prices_lead_nowhere() -> None:
    leaders = all_tiers().ranking.filter(pl.col("rank") == 1).join(bundled(), on="offering_id")
    per_gpu = leaders["price_usd_per_gpu_hour"].cast(pl.Float64)
    assert set(leaders["price_state"]) == {"priced"}
    assert leaders.filter(is_gpu("^MI300X"), (per_gpu <= 0.5)).is_empty()
