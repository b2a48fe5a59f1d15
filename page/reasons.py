"""Why an offer is not the answer: the codes of the tests and of what keeps an offer from leading, as words."""

from __future__ import annotations

from markupsafe import Markup

from page.texts import Texts
from page.words import word


def would_lead_if(t: Texts, codes: str) -> Markup:
    """What keeps an offer from place 1; `codes` are joined by |."""
    known = {
        "uncalibrated": t.say("a speed that is not calibrated"),
        "second_hand": t.say("a second-hand price"),
        "old_price": t.say("an old price"),
        "outlier": t.say("a price far from that of others"),
        "out_of_stock": t.say("being out of stock"),
    }
    flaws = [word("would_lead_if", code, known) for code in codes.split("|")]
    return t.say("Would lead but for %(flaws)s", flaws=t.listing(flaws))


def reason(t: Texts, code: str, is_unknown: bool) -> Markup:
    """The first test that an offer failed in a job, or that a missing fact left open."""
    failed = {**_of_offers(t), **_of_layouts(t)}
    return word("reason", code, {**failed, **_missing_facts(t)} if is_unknown else failed)


def _missing_facts(t: Texts) -> dict[str, Markup]:
    return {
        "region": t.say("Region not stated"),
        "hosts": t.say("Type of the provider not stated"),
        "billing_increment": t.say("Billing step not stated"),
        "price_state": t.say("No public price"),
        "price_age": t.say("Date of the price not stated"),
        "fabric": t.say("Link or network not stated"),
        "max_gpus": t.say("Number of GPUs not stated"),
        "memory": t.say("Memory need not known"),
        "speed": t.say("Speed not known"),
        "precision": t.say("Number formats not known"),
        "users": t.say("Number of people at once not known"),
        "deadline": t.say("Time needed not known"),
    }


def _of_offers(t: Texts) -> dict[str, Markup]:
    return {
        "purchase_kind": t.say("Way to pay not allowed"),
        "checkpoint": t.say("Spot, but the job cannot be interrupted"),
        "term": t.say("Reserved for a term that is not stated"),
        "hosts": t.say("Private host"),
        "region": t.say("Outside the region"),
        "billing_increment": t.say("Billed in too long steps"),
        "price_state": t.say("Lower bound, not a price"),
        "price": t.say("No price in US dollars"),
        "price_age": t.say("Price too old"),
        "availability": t.say("Out of stock"),
        "gpu": t.say("GPU not identified"),
        "max_gpus": t.say("More GPUs than the job may rent"),
        "fabric": t.say("Link or network not fast enough"),
    }


def _of_layouts(t: Texts) -> dict[str, Markup]:
    return {
        "performance": t.say("Memory and speed cannot be computed"),
        "gpu_figures": t.say("A figure of the GPU is not known"),
        "figures": t.say("A figure that sets the speed is not known"),
        "memory": t.say("Not enough memory"),
        "precision": t.say("Number format not supported"),
        "heads": t.say("Model cannot be split over these GPUs"),
        "layout": t.say("More GPUs than the work can be shared over"),
        "architecture": t.say("Architecture of the model not known"),
        "speed": t.say("Too slow"),
        "ttft": t.say("First token too late"),
        "latency": t.say("Answer too late"),
        "users": t.say("Too few people at once"),
        "deadline": t.say("Deadline missed"),
    }
