"""How a job runs on an offer, in words: what limits it, where the time goes, its software, and what to know of it."""

from __future__ import annotations

from markupsafe import Markup

from page.texts import Texts
from page.words import word


def limiting_factor(t: Texts, code: str) -> Markup:
    """What limits the speed, as the end of "limited by …"."""
    return word(
        "limiting factor",
        code,
        {
            "bandwidth": t.say("limited by memory bandwidth"),
            "compute": t.say("limited by compute"),
            "link": t.say("limited by the link between the GPUs"),
            "overhead": t.say("limited by overhead"),
            "cache_capacity": t.say("limited by the room for the cache"),
        },
    )


def time_part(t: Texts, code: str) -> Markup:
    """What a part of the time is spent on, after the columns time_..._share."""
    return word(
        "part of the time",
        code,
        {
            "weights": t.say("Reading weights"),
            "memory": t.say("Reading memory"),
            "cache": t.say("Reading the cache"),
            "compute": t.say("Computing"),
            "link": t.say("Between GPUs"),
            "overhead": t.say("Overhead"),
            "prefill": t.say("Reading the input"),
        },
    )


def engine(t: Texts, code: str) -> Markup:
    """The software that a speed is computed for."""
    return word(
        "engine",
        code,
        {
            "vLLM 0.8 and later": t.say("vLLM 0.8 and later"),
            "diffusers, eager": t.say("Diffusers, not compiled"),
            "the model's own": t.say("the model’s own program"),
            "hf peft": t.say("Hugging Face PEFT"),
            "pytorch fsdp": t.say("PyTorch FSDP"),
            "megatron class": t.say("Megatron or a program like it"),
        },
    )


def flag(t: Texts, code: str) -> Markup:
    """What a reader should know of the way a job runs on an offer."""
    return word(
        "flag",
        code,
        {
            "weight_only": t.say("The number format saves memory only; the arithmetic runs at 16 bits."),
            "fp16_for_bf16": t.say("FP16 is used in place of BF16."),
            "kv16_fallback": t.say("The cache stays in 16 bits."),
            "kv8_unpacked": t.say("The cache is kept in 8 bits, as asked, and unpacked at each step."),
            "stated_peak": t.say("The peak of memory is stated with the job, not computed."),
            "ttft_not_modelled": t.say("The time to the first sound is not computed."),
            "assumed_increment": t.say("The billing step is not stated; started hours are assumed."),
            "assumed_startup_billed": t.say("Whether start-up is billed is not stated; it is assumed."),
            "assumed_interruptions": t.say("How often spot is taken back is not stated; it is assumed."),
        },
    )
