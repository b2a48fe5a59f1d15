"""What the pages say of one row of a ranking or an exclusion: the offer, its bill, and the figure it is held to."""

from __future__ import annotations

from markupsafe import Markup

from page import runs, words
from page.data import Row
from page.figures import Band
from page.texts import Texts, name

WIDE_BILL = 1.1  # ends of a bill that are closer say the same
RATES = ("tokens/s/user", "tokens/s/gpu", "audio s/s")  # more is faster; the other units are seconds


def hardware(t: Texts, row: Row) -> Markup:
    """Returns what is rented: one H200, 8 × H100 SXM, or several machines of that."""
    count = row["gpu_count"]
    gpu = t.gpu(row["gpu_name"] or row["plan"] or "–")
    one = gpu if count is None or count == 1 else t.say("%(count)s × %(gpu)s", count=t.number(count), gpu=gpu)
    instances = row.get("instances")
    if instances is None or instances == 1:
        return one
    return t.say_n("%(num)s machine with %(what)s", "%(num)s machines with %(what)s", instances, what=one)


def bill_amount(t: Texts, row: Row) -> Markup:
    """Returns the whole bill, marked as a lower bound where a price is not stated."""
    if row["total_usd"] is None:
        return t.say("not known")
    amount = t.total(row["total_usd"])
    return t.say("at least %(amount)s", amount=amount) if row["is_lower_bound"] else Markup(amount)


def bill_band(t: Texts, row: Row) -> str | None:
    """Returns the ends of the bill where what is missing moves it by more than a tenth."""
    low, high = row["total_low_usd"], row["total_high_usd"]
    if not low or high is None or high <= WIDE_BILL * low:
        return None
    return t.span(t.total(low), t.total(high))


def terms_of_payment(t: Texts, row: Row) -> list[Markup]:
    """Returns what a reservation or a spot machine asks for: how much use pays, how often to save."""
    notes = []
    share, hours = row["commitment_break_even_share"], row["commitment_break_even_hours"]
    if share is not None and hours is not None:
        notes.append(
            t.say(
                "pays from %(hours)s h of its term on (%(share)s)",
                hours=t.number(hours, 0),
                share=t.percent(share),
            )
            if share <= 1
            else t.say("never pays: the same hardware by the hour costs less")
        )
    if row["checkpoint_advice_min"] is not None:
        minutes = t.number(row["checkpoint_advice_min"], 0)
        notes.append(t.say("a checkpoint every %(minutes)s min loses least", minutes=minutes))
    if row["is_spot_sensitive"]:
        notes.append(t.say("its place hangs on the assumed rate of losses"))
    return notes


def may_lead(row: Row) -> bool:
    """Returns whether nothing is held against an offer but its cost."""
    return bool(row["is_calibrated"]) and row["evidence"] != "second_hand" and row["would_lead_if"] is None


def offer_at(t: Texts, row: Row) -> Markup:
    return t.say("%(offer)s at %(provider)s", offer=hardware(t, row), provider=name(row["provider_name"]))


def measure(t: Texts, tier: Row, row: Row) -> tuple[Band, Markup, Markup | None]:
    """Returns the figure that the job is held to, its name and the words of its limit."""
    low, high = row["speed_low"], row["speed_high"]
    if tier["deadline_hours"] is not None and row["work_hours"] is not None:
        hours, deadline = row["work_hours"], tier["deadline_hours"]
        fast, slow = None, None
        if low and high:
            ratios = [row["speed"] / low, row["speed"] / high]
            if row["speed_unit"] not in RATES:
                ratios = [1 / ratio for ratio in ratios]
            fast, slow = hours * min(ratios), hours * max(ratios)
        label = t.say("deadline %(hours)s h", hours=t.number(deadline))
        return Band(fast, hours, slow, deadline), t.say("Time"), label
    limits = {
        "tokens/s/user": "min_tokens_per_s_per_user",
        "audio s/s": "min_stream_rtf",
        "s/image": "max_latency_s",
        "s/clip": "max_latency_s",
    }
    column = limits.get(row["speed_unit"])
    limit = tier[column] if column else None
    band = Band(low, row["speed"], high, limit)
    if row["speed_unit"] == "tokens/s/user":
        title = t.say("Speed for each person")
    else:
        title = t.say("Speed") if row["speed_unit"] in RATES else t.say("Time for one answer")
    if limit is None:
        return band, title, None
    if row["speed_unit"] in RATES:
        return band, title, t.say("floor %(limit)s", limit=t.number(limit))
    return band, title, t.say("limit %(limit)s s", limit=t.number(limit))


def speed_text(t: Texts, tier: Row, row: Row, band: Band) -> Markup:
    """Returns speed or time with its band and what limits it."""
    is_time = tier["deadline_hours"] is not None and row["work_hours"] is not None
    point = t.quantity(band.point)
    amount = t.say("%(hours)s h", hours=point) if is_time else words.speed(t, row["speed_unit"], point)
    limit = (
        runs.limiting_factor(t, row["limiting_factor"]) if row["limiting_factor"] else t.say("limit unknown")
    )
    if band.low is None or band.high is None:
        return t.say("%(amount)s, %(limit)s", amount=amount, limit=limit)
    span = t.span(t.quantity(band.low), t.quantity(band.high))
    return t.say("%(amount)s, 80%% band %(span)s, %(limit)s", amount=amount, span=span, limit=limit)
