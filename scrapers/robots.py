"""What robots.txt allows, read as RFC 9309 says: 4xx allows all, 5xx and an unreachable host allow nothing."""

from __future__ import annotations

from dataclasses import dataclass

from protego import Protego

AGENT = "gpu-almanac"
LARGEST_FILE_BYTES = 512 * 1024
LONGEST_PACE_S = 60.0


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one host. `refusal` says why nothing at all is allowed there."""

    parsed: Protego | None = None
    refusal: str | None = None

    def refused(self, url: str) -> str | None:
        """Why this address must not be asked for; None where it may.

        A host that wants longer pauses than we wait is not asked at all, for shorter ones would disobey it.
        """
        if self.refusal:
            return self.refusal
        if self.pace_s() > LONGEST_PACE_S:
            return f"robots.txt asks for a pause of {self.pace_s():g} s, and at most {LONGEST_PACE_S:g} s are kept"
        if self.parsed is not None and not self.parsed.can_fetch(url, AGENT):
            return "robots.txt disallows it"
        return None

    def pace_s(self) -> float:
        """The pause that the host asks for between two requests."""
        delay = self.parsed.crawl_delay(AGENT) if self.parsed is not None else None
        return delay or 0.0


def rules_of(status: int, body: bytes) -> Rules:
    """The rules in an answer to a request for robots.txt that was not 5xx."""
    if status != 200:
        return Rules()
    return Rules(parsed=Protego.parse(body[:LARGEST_FILE_BYTES].decode("utf-8", "replace")))


def unreachable(reason: str) -> Rules:
    """The rules of a host whose robots.txt cannot be had."""
    return Rules(refusal=f"robots.txt cannot be had ({reason}), which counts as a refusal by RFC 9309")
