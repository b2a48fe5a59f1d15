"""Codes of the almanac as translated words: one function for each family of codes.

A code that is not known stops the build: a page that shows a bare code, or hides one, would be wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from page.errors import PageError
from page.texts import Texts


def word(family: str, code: str, words: Mapping[str, Markup]) -> Markup:
    """Returns the word for a code of a family."""
    if code not in words:
        raise PageError(f"{family} {code!r}: no words for this code; add them to its family in page/")
    return words[code]


def verdict(t: Texts, code: str) -> Markup:
    """Whether a job fits into the memory of a GPU."""
    return word(
        "verdict",
        code,
        {
            "fits": t.say("Fits"),
            "tight": t.say("Tight"),
            "loads_but_cannot_serve": t.say("Loads but cannot serve"),
            "does_not_fit": t.say("Does not fit"),
            "unsupported_precision": t.say("Fits, precision not supported"),
            "unknown": t.say("Unknown"),
        },
    )


def certainty(t: Texts, code: str) -> Markup:
    """Whether the low end of the speed band keeps up, or only its middle."""
    return word(
        "certainty",
        code,
        {"certain": t.say("Certainly fast enough"), "likely": t.say("Likely fast enough")},
    )


def certainty_short(t: Texts, code: str) -> Markup:
    """The same for a table cell."""
    return word("certainty", code, {"certain": t.say("Certain"), "likely": t.say("Likely")})


def constraint(t: Texts, code: str) -> Markup:
    """The limit with the least slack."""
    return word(
        "constraint",
        code,
        {
            "memory": t.say("memory"),
            "speed": t.say("speed"),
            "ttft": t.say("first token"),
            "latency": t.say("time for one answer"),
            "deadline": t.say("deadline"),
        },
    )


def outcome(t: Texts, code: str) -> Markup:
    """How a source ended the night."""
    return word(
        "outcome",
        code,
        {
            "ok": t.say("Collected"),
            "unchanged": t.say("Unchanged"),
            "stale": t.say("Last good night"),
            "blocked": t.say("Blocked"),
            "skipped": t.say("Skipped"),
            "waiting": t.say("Not due"),
            "failed": t.say("Failed"),
            "held": t.say("Held back"),
            "off": t.say("Off"),
            "never": t.say("Not run yet"),
            "bundled": t.say("Bundled list only"),
            "not_asked": t.say("Not collected"),
        },
    )


def terms(t: Texts, code: str) -> Markup:
    """What the terms of a source say about automated access."""
    return word(
        "terms",
        code,
        {
            "open": t.say("Automated access allowed"),
            "restricted": t.say("Automated access restricted"),
            "unknown": t.say("Terms not clear"),
        },
    )


def segment(t: Texts, code: str) -> Markup:
    """The type of a provider."""
    return word(
        "segment",
        code,
        {
            "hyperscaler": t.say("Hyperscaler"),
            "neocloud": t.say("Neocloud"),
            "marketplace": t.say("Marketplace"),
            "peer_host": t.say("Peer hosts"),
            "serverless": t.say("Serverless"),
            "reseller": t.say("Reseller"),
            "bare_metal": t.say("Bare metal"),
            "mixed": t.say("Several types"),
        },
    )


def purchase(t: Texts, code: str) -> Markup:
    """The way to pay."""
    return word(
        "purchase",
        code,
        {
            "on_demand": t.say("On-demand"),
            "spot": t.say("Spot"),
            "reserved": t.say("Reserved"),
        },
    )


def price_state(t: Texts, code: str) -> Markup:
    """What kind of price it is."""
    return word(
        "price state",
        code,
        {
            "priced": t.say("Listed"),
            "from_price": t.say("From"),
            "bid_floor": t.say("Lowest bid"),
            "contact_sales": t.say("Contact sales"),
            "future": t.say("Not yet valid"),
        },
    )


def bill_state(t: Texts, code: str) -> Markup:
    """How firm a bill is whose ends are close."""
    return word(
        "bill state",
        code,
        {
            "exact": t.say("Every term of the bill is stated."),
            "bounded": t.say("Not all terms are stated; that moves the total by less than a tenth."),
            "partial": t.say("A term is not stated, and there is no total."),
        },
    )


def price_basis(t: Texts, per: str, unit: str, price: object) -> Markup:
    """A price as it was listed, with what it is for."""
    units = {
        "second": t.say("second"),
        "minute": t.say("minute"),
        "hour": t.say("hour"),
        "day": t.say("day"),
        "month": t.say("month"),
        "year": t.say("year"),
        "term": t.say("term"),
    }
    bases = {
        "gpu": t.say("%(price)s per GPU and %(unit)s", price=price, unit=word("price unit", unit, units)),
        "instance": t.say("%(price)s per machine and %(unit)s", price=price, unit=units[unit]),
    }
    return word("price basis", per, bases)


def availability(t: Texts, code: str) -> Markup:
    """Whether it can be had."""
    return word(
        "availability",
        code,
        {
            "in_stock": t.say("In stock"),
            "low": t.say("Low stock"),
            "out_of_stock": t.say("Out of stock"),
            "listed_only": t.say("Listed only"),
            "unknown": t.say("Stock unknown"),
        },
    )


def evidence(t: Texts, code: str) -> Markup:
    """Where a price was read."""
    return word(
        "evidence",
        code,
        {
            "live": t.say("from the provider’s own interface"),
            "mirror": t.say("from a mirror of the provider’s list"),
            "derived": t.say("by a rule that the provider publishes"),
            "machine_collected": t.say("collected by machine"),
            "page_html": t.say("from the provider’s page"),
            "page_transcription": t.say("copied from the provider’s page"),
            "provider_docs": t.say("from the provider’s documents"),
            "second_hand": t.say("second-hand"),
        },
    )


def freshness(t: Texts, code: str) -> Markup:
    """From which night a price is."""
    return word(
        "freshness",
        code,
        {
            "tonight": t.say("Live price"),
            "last_good": t.say("Last good night"),
            "bundled": t.say("Bundled list price"),
        },
    )


def link(t: Texts, code: str) -> Markup:
    """How the GPUs of one machine are joined."""
    return word(
        "link",
        code,
        {
            "nvlink": t.say("NVLink"),
            "pcie": t.say("PCIe"),
            "xgmi": t.say("Infinity Fabric"),
            "none": t.say("single"),
            "unknown": Markup("–"),
        },
    )


def group(t: Texts, code: str) -> Markup:
    """A group of jobs."""
    return word(
        "group",
        code,
        {
            "serve_text": t.say("Text serving"),
            "serve_realtime": t.say("Real-time serving"),
            "long_context": t.say("Long context"),
            "batch_text": t.say("Batch text"),
            "reasoning": t.say("Reasoning"),
            "multimodal": t.say("Pictures and text"),
            "image": t.say("Images"),
            "video": t.say("Video"),
            "music": t.say("Music"),
            "speech": t.say("Speech"),
            "asr": t.say("Transcription"),
            "embedding": t.say("Embedding"),
            "lora": t.say("LoRA"),
            "qlora": t.say("QLoRA"),
            "full_ft": t.say("Full fine-tuning"),
            "pretrain": t.say("Pretraining"),
            "experiment": t.say("Experiments"),
        },
    )


def objective(t: Texts, code: str) -> Markup:
    """The unit in which the cost of a job is told."""
    return word(
        "objective",
        code,
        {
            "usd_per_month": t.say("per month"),
            "usd_per_hour": t.say("per hour"),
            "usd_per_job": t.say("per job"),
            "usd_per_million_output_tokens": t.say("per million output tokens"),
            "usd_per_1000_images": t.say("per 1,000 images"),
            "usd_per_1000_pages": t.say("per 1,000 pages"),
            "usd_per_video_second": t.say("per second of video"),
            "usd_per_audio_hour": t.say("per hour of audio"),
            "usd_per_billion_train_tokens": t.say("per billion training tokens"),
        },
    )


def work_unit(t: Texts, code: str) -> Markup:
    """What a job makes, as the heading of its quantity."""
    return word(
        "work unit",
        code,
        {
            "output_tokens": t.say("Output tokens"),
            "output_tokens_per_month": t.say("Output tokens a month"),
            "pages": t.say("Pages"),
            "images": t.say("Images"),
            "images_per_month": t.say("Images a month"),
            "clips": t.say("Clips"),
            "clips_per_month": t.say("Clips a month"),
            "songs": t.say("Songs"),
            "audio_hours": t.say("Hours of audio"),
            "audio_hours_per_month": t.say("Hours of audio a month"),
            "passages": t.say("Passages"),
            "samples": t.say("Samples"),
            "train_tokens": t.say("Training tokens"),
            "session_hours_per_month": t.say("Session hours a month"),
        },
    )


def hosts(t: Texts, code: str) -> Markup:
    """Whose machines may do a job."""
    return word(
        "hosts",
        code,
        {"no_peer": t.say("data centers only"), "any": t.say("private hosts too")},
    )


def fabric(t: Texts, code: str) -> Markup:
    """Which link a job needs."""
    return word(
        "fabric",
        code,
        {
            "any": t.say("any"),
            "nvlink_if_split": t.say("NVLink or xGMI if split"),
            "nvlink_node": t.say("a full NVLink or xGMI node"),
            "nvlink_node+rdma_1600gbps": t.say("full NVLink nodes, at least 1.6 Tb/s between them"),
        },
    )


def area(t: Texts, code: str) -> Markup:
    """A continent, or the European Union."""
    return word(
        "area",
        code,
        {
            "AF": t.say("Africa"),
            "AS": t.say("Asia"),
            "EU": t.say("Europe"),
            "NA": t.say("North America"),
            "OC": t.say("Oceania"),
            "SA": t.say("South America"),
            "eu_member": t.say("European Union"),
        },
    )


def speed(t: Texts, unit: str, amount: object) -> Markup:
    """A speed with its unit; `amount` is a formatted number or range."""
    return word(
        "speed unit",
        unit,
        {
            "tokens/s/user": t.say("%(amount)s tokens/s", amount=amount),
            "tokens/s/gpu": t.say("%(amount)s tokens/s for each GPU", amount=amount),
            "s/image": t.say("%(amount)s s for an image", amount=amount),
            "s/clip": t.say("%(amount)s s for a clip", amount=amount),
            "audio s/s": t.say("%(amount)s times real time", amount=amount),
        },
    )


def precision(code: str) -> str:
    """The printed name of a number format; these are names, not words."""
    names = {
        "bf16": "BF16",
        "fp16": "FP16",
        "fp8": "FP8",
        "int8": "INT8",
        "awq-int4": "AWQ INT4",
        "nf4": "NF4",
        "mxfp4": "MXFP4",
        "none": "–",
    }
    if code not in names:
        raise PageError(f"precision {code!r}: no name for this code; add it to page/words.py")
    return names[code]
