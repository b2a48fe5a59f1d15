"""One job as its page tells it: what it asks for, who wins and who lost. Figures come ranked from the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from page import reasons, words
from page.answer import Answer, answer
from page.data import RANKED_ROWS, Night, Row
from page.figures import Ruler, band_ruler, memory_ruler
from page.phrases import bill_amount, bill_band, hardware, may_lead, measure, offer_at, terms_of_payment
from page.texts import Texts, name

GROUPS = (
    "serve_text",
    "serve_realtime",
    "long_context",
    "reasoning",
    "multimodal",
    "batch_text",
    "embedding",
    "image",
    "video",
    "music",
    "speech",
    "asr",
    "lora",
    "qlora",
    "full_ft",
    "pretrain",
    "experiment",
)
FEATURED = "rt-chat-70b"  # the entry of the start page, while it has an answer


LEAST_SHOWN_USD = 0.005


@dataclass(frozen=True, slots=True)
class Ranked:
    """One row of the ranked table."""

    row: Row
    offer: Markup
    memory: Ruler
    speed: Ruler
    speed_text: str
    cost: Markup
    bill_band: str | None
    notes: list[Markup]


@dataclass(frozen=True, slots=True)
class Job:
    """A job and its answer, or the reason why there is none."""

    tier: Row
    title: Markup
    group: Markup
    conditions: list[tuple[Markup, object]]
    answer: Answer | None
    no_answer: Markup | None
    rows: list[Row]
    ranked: list[Ranked]
    would_lead: list[Row]
    exclusions: list[Row]
    cheaper: list[Row]
    near_misses: list[Row]
    runner_up: Row | None
    factors: Mapping[str, float]


def describe(t: Texts, night: Night, tier: Row) -> Job:
    """Returns the job of one tier as its page tells it."""
    tier_id = tier["tier_id"]
    rows = night.ranking.get(tier_id, [])
    winner = next((row for row in rows if row["is_headline"]), None)
    return Job(
        tier=tier,
        title=t.title(tier["title_en"]),
        group=words.group(t, tier["group_name"]),
        conditions=_conditions(t, tier),
        answer=None if winner is None else answer(t, tier, winner, rows),
        no_answer=_no_answer(t, rows, night.exclusion_counts.get(tier_id, [])) if winner is None else None,
        rows=rows,
        ranked=_ranked(t, tier, [row for row in rows if row["rank"] <= RANKED_ROWS]),
        would_lead=[row for row in rows if row["would_lead_if"] and not row["is_headline"]],
        exclusions=night.exclusion_counts.get(tier_id, []),
        cheaper=night.cheaper.get(tier_id, []),
        near_misses=night.near_misses.get(tier_id, []),
        runner_up=next(iter(night.runners_up.get(tier_id, [])), None),
        factors=night.factors,
    )


def grouped(described: Sequence[Job]) -> list[tuple[Markup, list[Job]]]:
    """Returns the jobs under the names of their groups, serving first and experiments last."""
    codes = sorted({job.tier["group_name"] for job in described}, key=GROUPS.index)
    members = [[job for job in described if job.tier["group_name"] == code] for code in codes]
    return [(jobs[0].group, jobs) for jobs in members]


def looked_at(job: Job) -> int:
    """Returns how many offers were looked at for a job: ranked and excluded."""
    return int(job.tier["ranked"] + sum(row["offers"] for row in job.exclusions))


def firmness(t: Texts, job: Job) -> list[tuple[Markup, Markup]]:
    """Returns what would take place 1 under changed assumptions, as condition and outcome."""
    if job.answer is None:
        return []
    winner, rows = job.answer.row, job.rows
    lines = []
    others = [row for row in rows if not row["is_headline"] and may_lead(row)]
    if others:
        following = offer_at(t, others[0])
        alike = t.say("%(offer)s, the same GPU", offer=following)
        lines.append((t.say("the winner is gone"), alike if winner["survives_loss"] else following))
    lines += _speeds_moved(t, winner, job.factors)
    certain = next((row for row in rows if row["certainty"] == "certain" and may_lead(row)), None)
    lines.append(
        (
            t.say("only certain speeds count"),
            t.say("No answer") if certain is None else offer_at(t, certain),
        )
    )
    if job.would_lead:
        first = job.would_lead[0]
        lines.append((offer_at(t, first), reasons.would_lead_if(t, first["would_lead_if"])))
    if winner["break_even_usd_per_instance_hour"] is not None:
        price = t.money(winner["break_even_usd_per_instance_hour"])
        lines.append(
            (t.say("its machine-hour costs more than %(price)s", price=price), t.say("It loses place 1"))
        )
    return lines


def _speeds_moved(t: Texts, winner: Row, factors: Mapping[str, float]) -> list[tuple[Markup, Markup]]:
    """Returns whether the GPU of place 1 stays when every speed is lower or higher."""
    slower, faster = factors["slower_speed_factor"], factors["faster_speed_factor"]
    tried = [
        ("survives_slower", t.say("every speed is %(share)s lower", share=t.percent(1 - slower))),
        ("survives_faster", t.say("every speed is %(share)s higher", share=t.percent(faster - 1))),
    ]
    stays, goes = t.say("The same GPU"), t.say("Another GPU, or none")
    return [
        (condition, stays if winner[column] else goes)
        for column, condition in tried
        if winner[column] is not None
    ]


def why_the_next_lost(t: Texts, runner_up: Row) -> list[tuple[Markup, str | Markup]]:
    """Returns why the next offer costs more, in USD by cause; what is less than a cent is left out.

    A line that one of the two bills does not state is said to be so, since without it the causes do not add up.
    """
    causes = {
        "more_by_price_usd": t.say("Price of a GPU-hour"),
        "more_by_gpus_usd": t.say("Number of GPUs"),
        "more_by_hours_usd": t.say("Paid hours: speed and rounding"),
        "more_by_startup_usd": t.say("Start-up"),
        "more_by_storage_usd": t.say("Storage"),
        "more_by_egress_usd": t.say("Outgoing data"),
        "more_by_interruption_usd": t.say("Work lost to interruptions"),
        "more_by_commitment_usd": t.say("Commitment that is not used"),
    }
    found: list[tuple[Markup, str | Markup]] = []
    for column, cause in causes.items():
        usd = runner_up[column]
        if usd is None:
            found.append((cause, t.say("not stated")))
        elif abs(usd) >= LEAST_SHOWN_USD:
            found.append((cause, f"{'+' if usd > 0 else '−'}{t.money(abs(usd))}"))
    return found


def _conditions(t: Texts, tier: Row) -> list[tuple[Markup, object]]:
    """Returns what the job asks for, as headings and values. What the job leaves open is not listed."""
    is_demand = tier["kind"] == "demand"
    number = t.number

    def when(column: str, heading: Markup, message: str = "%(n)s") -> tuple[Markup, object] | None:
        value = tier[column]
        return None if value is None else (heading, Markup(message) % {"n": number(value)})

    gettext = t.translations.gettext
    listed = [
        (t.say("Model"), name(tier["model_id"])),
        (t.say("Weights"), name(words.precision(tier["weight_precision"]))),
        None
        if tier["kv_precision"] in (None, "none")
        else (t.say("KV cache"), name(words.precision(tier["kv_precision"]))),
        when("concurrent_users", t.say("People at once")) if is_demand else None,
        when("context_tokens", t.say("Context each"), gettext("%(n)s tokens")),
        _request(t, tier),
        when("min_tokens_per_s_per_user", t.say("Speed each"), gettext("at least %(n)s tokens/s")),
        when("max_ttft_ms", t.say("First token"), gettext("within %(n)s ms")),
        when("max_latency_s", t.say("One answer"), gettext("within %(n)s s")),
        when("min_stream_rtf", t.say("Each stream"), gettext("at least %(n)s times real time")),
        None
        if tier["width_px"] is None
        else (t.say("Size"), f"{number(tier['width_px'])} × {number(tier['height_px'])}"),
        when("steps", t.say("Steps")),
        None
        if is_demand or tier["work_quantity"] is None
        else (words.work_unit(t, tier["work_unit"]), number(tier["work_quantity"])),
        when("deadline_hours", t.say("Deadline"), gettext("%(n)s hours")),
        _hours(t, tier),
        when("max_gpus", t.say("GPUs"), gettext("at most %(n)s")),
        (t.say("Link"), words.fabric(t, tier["required_fabric"])),
        (t.say("Hosts"), words.hosts(t, tier["hosts_allowed"])),
        (t.say("Way to pay"), t.listing([words.purchase(t, kind) for kind in tier["purchase_kinds"]])),
    ]
    return [item for item in listed if item is not None]


def _request(t: Texts, tier: Row) -> tuple[Markup, Markup] | None:
    """Returns the mean length of a request."""
    if tier["input_tokens"] is None or tier["output_tokens"] is None:
        return None
    value = t.say(
        "%(input)s tokens in, %(output)s out",
        input=t.number(tier["input_tokens"]),
        output=t.number(tier["output_tokens"]),
    )
    return t.say("Request"), value


def _hours(t: Texts, tier: Row) -> tuple[Markup, Markup] | None:
    """Returns the hours of a demand and how much of it is used in the mean."""
    if tier["hours_per_month"] is None:
        return None
    hours = t.number(tier["hours_per_month"])
    if tier["mean_load"] is None:
        return t.say("Hours"), t.say("%(hours)s a month", hours=hours)
    load = t.percent(tier["mean_load"])
    return t.say("Hours"), t.say("%(hours)s a month at %(load)s load", hours=hours, load=load)


def _no_answer(t: Texts, rows: list[Row], exclusions: list[Row]) -> Markup:
    """Returns why a job has no winner: the flaw of the first, or what most offers lack."""
    flawed = next((row for row in rows if row["would_lead_if"]), None)
    if flawed is not None:
        return t.say(
            "No offer may lead tonight. First among the others: %(offer)s at %(provider)s. %(flaw)s.",
            offer=hardware(t, flawed),
            provider=name(flawed["provider_name"]),
            flaw=reasons.would_lead_if(t, flawed["would_lead_if"]),
        )
    unknown = [row for row in exclusions if row["is_unknown"]]
    for row in unknown or exclusions:
        return t.say(
            "%(reason)s: %(offers)s.",
            reason=reasons.reason(t, row["reason"], row["is_unknown"]),
            offers=t.say_n("%(num)s offer", "%(num)s offers", row["offers"]),
        )
    return t.say("No offers were looked at.")


def _ranked(t: Texts, tier: Row, rows: list[Row]) -> list[Ranked]:
    """Returns the rows of the ranked table, their small rulers on one common scale."""
    bands = [measure(t, tier, row)[0] for row in rows]
    largest = max((band.largest for band in bands), default=0.0)
    ranked = []
    for row, band in zip(rows, bands, strict=True):
        has_band = band.low is not None and band.high is not None
        low, high = band.low or band.point, band.high or band.point
        ranked.append(
            Ranked(
                row=row,
                offer=hardware(t, row),
                memory=memory_ruler([row["need_gib"]], row["usable_gib"]),
                speed=band_ruler(band, largest),
                speed_text=t.span(t.quantity(low), t.quantity(high)) if has_band else t.quantity(band.point),
                cost=bill_amount(t, row),
                bill_band=bill_band(t, row),
                notes=terms_of_payment(t, row),
            )
        )
    return ranked
