"""The winner of a job: the answer in one sentence, what it costs, why it is first, its rulers and its bill."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from page import runs, words
from page.data import Row
from page.figures import Band, Part, Ruler, band_ruler, end_to_end, memory_ruler, per_cent
from page.phrases import bill_amount, bill_band, hardware, may_lead, measure, speed_text, terms_of_payment
from page.texts import Texts, name

TIME_PARTS = ("weights", "cache", "compute", "link", "overhead", "prefill")
LEAST_SHARE = 0.005  # of the time, that the key names


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the bill: `amount` is None where the provider states no price."""

    number: int
    label: Markup
    amount: str | None
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The winner of a job with all that explains it."""

    row: Row
    lead: Markup
    costs: list[tuple[Markup, Markup]]
    short_why: Markup
    why: list[Markup]
    certain: Row | None
    memory: Ruler
    memory_text: Markup
    speed: Ruler
    speed_title: Markup
    speed_text: Markup
    speed_limit: Markup | None
    time: tuple[Part, ...]
    time_key: list[tuple[int, Markup, str]]
    bill: list[Line]
    bill_state: Markup


def answer(t: Texts, tier: Row, row: Row, rows: list[Row]) -> Answer:
    """Returns the winner with its reasons, rulers and bill."""
    band, title, limit = measure(t, tier, row)
    certain = next((other for other in rows if other["certainty"] == "certain" and may_lead(other)), None)
    load = row["need_gib"] / row["usable_gib"]
    return Answer(
        row=row,
        lead=_lead(t, row),
        costs=_costs(t, tier, row),
        short_why=_short_why(t, tier, row),
        why=_why(t, tier, row, band),
        certain=certain if row["certainty"] == "likely" else None,
        memory=memory_ruler(_memory_parts(row), row["usable_gib"]),
        memory_text=t.say(
            "%(need)s of %(usable)s GiB usable, %(share)s",
            need=t.gib(row["need_gib"]),
            usable=t.gib(row["usable_gib"]),
            share=t.percent(load),
        ),
        speed=band_ruler(band),
        speed_title=title,
        speed_text=speed_text(t, tier, row, band),
        speed_limit=limit,
        time=end_to_end(_time_shares(row)),
        time_key=_time_key(t, row),
        bill=_bill(t, tier, row),
        bill_state=_bill_state(t, row),
    )


def _lead(t: Texts, row: Row) -> Markup:
    """Returns the answer as one sentence."""
    strong = Markup("<strong>{}</strong>").format
    what, where = strong(hardware(t, row)), strong(name(row["provider_name"]))
    if row["gpu_count"] == 1 and row["instances"] == 1:
        what = strong(t.say("one %(gpu)s", gpu=hardware(t, row)))
    if row["purchase"] == "spot":
        return t.say("Rent %(what)s on spot at %(where)s.", what=what, where=where)
    if row["purchase"] == "reserved":
        return t.say("Reserve %(what)s at %(where)s.", what=what, where=where)
    return t.say("Rent %(what)s at %(where)s.", what=what, where=where)


def _costs(t: Texts, tier: Row, row: Row) -> list[tuple[Markup, Markup]]:
    """Returns the cost in the unit of the job, as a whole and by the hour: amount and what it is for."""
    whole = t.say("a month, whole bill") if tier["kind"] == "demand" else t.say("whole job")
    costs = [(bill_amount(t, row), whole)]
    if row["objective"] not in ("usd_per_month", "usd_per_job"):
        costs.append((Markup(t.money(row["objective_usd"])), words.objective(t, row["objective"])))
    costs.append((Markup(t.money(row["price_usd_per_gpu_hour"])), t.say("per GPU-hour")))
    return costs


def _why(t: Texts, tier: Row, row: Row, band: Band) -> list[Markup]:
    """Returns the reasons for place 1: the field, speed or time, the tightest limit, the bill, the next price."""
    why = [] if row["would_lead_if"] is None else [t.say("No offer has a fresh price, so an old one leads.")]
    if tier["cheaper"]:
        why += [
            t.say_n(
                "Of %(num)s offer that holds the job and keeps up, the cheapest that may lead.",
                "Of %(num)s offers that hold the job and keep up, the cheapest that may lead.",
                tier["ranked"],
            ),
            t.say_n(
                "%(num)s cheaper one may not lead: its price is second-hand or old, or its speed not calibrated.",
                "%(num)s cheaper ones may not lead: their price is second-hand or old, or their speed not calibrated.",
                tier["cheaper"],
            ),
        ]
    else:
        why += [
            t.say_n(
                "The only offer that holds the job and keeps up.",
                "The cheapest of %(num)s offers that hold the job and keep up.",
                tier["ranked"],
            )
        ]
    if row["certainty"] == "likely" and band.limit is not None:
        why.append(
            t.say("The low end of the speed band misses the limit, so this is likely and not certain.")
        )
    if row["tightest_constraint"] and row["tightest_slack_ratio"] is not None:
        why.append(
            t.say(
                "The tightest limit is %(constraint)s, with %(slack)s to spare.",
                constraint=words.constraint(t, row["tightest_constraint"]),
                slack=t.percent(row["tightest_slack_ratio"]),
            )
        )
    if row["is_lower_bound"]:
        why.append(t.say("Storage or outgoing data has no stated price, so the bill is a lower bound."))
    elif row["bill_state"] == "bounded":
        why.append(t.say("Storage and outgoing data have a stated price; a term of the bill is assumed."))
    else:
        why.append(t.say("Storage and outgoing data have a stated price, so the bill is complete."))
    why += _objective_band(t, row)
    if row["break_even_usd_per_instance_hour"] is not None:
        why.append(
            t.say(
                "It stays first up to %(price)s an hour for each machine.",
                price=t.money(row["break_even_usd_per_instance_hour"]),
            )
        )
    notes = [
        t.say("%(way)s: %(note)s.", way=words.purchase(t, row["purchase"]), note=note)
        for note in terms_of_payment(t, row)
    ]
    return why + notes + [runs.flag(t, flag) for flag in row["flags"] or []]


def _objective_band(t: Texts, row: Row) -> list[Markup]:
    """Returns the cost at the ends of the speed band, where they are known and not the same."""
    low, high = row["objective_low_usd"], row["objective_high_usd"]
    if low is None:
        return []
    unit = words.objective(t, row["objective"])
    if high is None:
        return [
            t.say(
                "At the fast end of the speed band it costs %(low)s %(unit)s; at the slow end no number of copies"
                " carries the job.",
                low=t.money(low),
                unit=unit,
            )
        ]
    if t.money(low) == t.money(high):
        return []
    span = t.span(t.money(low), t.money(high))
    return [t.say("Over the speed band it costs %(span)s %(unit)s.", span=span, unit=unit)]


def _short_why(t: Texts, tier: Row, row: Row) -> Markup:
    """Returns the reason for place 1 in one line."""
    if tier["cheaper"]:
        return t.say_n(
            "the one that may lead, of %(num)s that can do it",
            "cheapest that may lead, of %(num)s that can do it",
            tier["ranked"],
        )
    if row["tightest_constraint"] is None or row["tightest_slack_ratio"] is None:
        return t.say_n("only offer that can do it", "cheapest of %(num)s that can do it", tier["ranked"])
    return t.say_n(
        "only offer that can do it; %(slack)s to spare in %(constraint)s",
        "cheapest of %(num)s that can do it; %(slack)s to spare in %(constraint)s",
        tier["ranked"],
        slack=t.percent(row["tightest_slack_ratio"]),
        constraint=words.constraint(t, row["tightest_constraint"]),
    )


def _memory_parts(row: Row) -> list[float | None]:
    """Returns the load of one GPU in parts: weights, cache or states, activations, runtime."""
    return [row["weights_gib"], row["state_gib"], row["activation_gib"], row["runtime_gib"]]


def _time_shares(row: Row) -> list[float | None]:
    """Returns the shares of the time in the order of TIME_PARTS."""
    return [row[f"time_{part}_share"] for part in TIME_PARTS]


def _time_key(t: Texts, row: Row) -> list[tuple[int, Markup, str]]:
    """Returns number, name and share of the parts of the time that are worth a word."""
    key = []
    for number, (part, share) in enumerate(zip(TIME_PARTS, _time_shares(row), strict=True), start=1):
        if share is None or share < LEAST_SHARE:
            continue
        # without a cache apart, all reading of memory is told as one
        is_all_memory = part == "weights" and not row["time_cache_share"]
        key.append((number, runs.time_part(t, "memory" if is_all_memory else part), t.percent(share)))
    return key


def _bill_state(t: Texts, row: Row) -> Markup:
    """Returns how firm the total is."""
    band = bill_band(t, row)
    if band:
        return t.say("Not all terms are stated. Read for and against the offer: %(band)s.", band=band)
    return words.bill_state(t, row["bill_state"])


def _bill(t: Texts, tier: Row, row: Row) -> list[Line]:
    """Returns the lines of the bill. A line of nothing is left out; a price that is not stated is not."""
    count, price = row["instances"], row["price_usd_per_instance_hour"]
    rent = t.say("Rent")
    if row["purchase"] != "reserved":  # the hourly price of a reservation may leave an upfront payment out
        hours = row["compute_usd"] / (count * price)
        rent = t.say("%(hours)s h × %(price)s", hours=t.quantity(hours), price=t.money(price))
        if count > 1:
            rent = t.say("%(count)s × %(rent)s", count=t.number(count), rent=rent)
    storage, egress = t.say("Storage"), t.say("Outgoing data")
    if tier["storage_gb"] is not None:
        storage = t.say("Storage, %(gb)s GB", gb=t.number(tier["storage_gb"]))
    if tier["egress_gb_per_month"] is not None:
        egress = t.say("Outgoing data, %(gb)s GB", gb=t.number(tier["egress_gb_per_month"]))
    wanted = [
        (1, rent, row["compute_usd"], True),
        (2, t.say("Start-up"), row["startup_usd"], False),
        (3, storage, row["storage_usd"], True),
        (4, egress, row["egress_usd"], True),
        (2, t.say("Expected loss by interruptions"), row["interruption_usd"], False),
        (2, t.say("Commitment beyond the job"), row["commitment_usd"], False),
    ]
    lines, at, total = [], 0.0, row["total_usd"] or 1.0
    for number, label, usd, is_kept in wanted:
        if not usd and not is_kept:
            continue
        amount = None if usd is None else t.money(usd)
        lines.append(Line(number, label, amount, per_cent(at, total), per_cent(usd or 0.0, total)))
        at += usd or 0.0
    return lines
