"""Whether an answer is one: statuses, challenge pages, login pages, pages where data are due, empty bodies."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from scrapers.contract import Request
from scrapers.errors import BlockedError, FetchError, TransientFetchError
from scrapers.exchange import Answer, shown

LOOKED_AT_BYTES = 64 * 1024
SMALL_PAGE_BYTES = 20 * 1024
CHALLENGE = re.compile(
    rb"<title>\s*(just a moment|attention required|access denied|pardon our interruption|security check"
    rb"|ddos-guard|verifying you are human|are you a robot)|_cf_chl_opt",
    re.IGNORECASE,
)
# These stand in ordinary pages too, beside a form or as a script that watches; alone they make a small page.
WATCHER = re.compile(
    rb"captcha|verify (that )?you are (a )?human|_incapsula_resource|datadome|awswaf", re.IGNORECASE
)
LOGIN = re.compile(r"/(log-?in|sign-?in|sso|oauth2?|authorize)\b", re.IGNORECASE)


def retry_after_s(value: str, now: datetime) -> float | None:
    """The seconds that a Retry-After header asks for, as seconds or as a date; None where it is neither."""
    if re.fullmatch(r"\d{1,9}", value.strip()):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())


def _is_page(answer: Answer) -> bool:
    return answer.body[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<"


def _is_challenge(answer: Answer) -> bool:
    if answer.headers.get("cf-mitigated", "").lower() == "challenge":
        return True
    if not _is_page(answer):
        return False
    is_small = len(answer.body) < SMALL_PAGE_BYTES
    head = answer.body[:LOOKED_AT_BYTES]
    return bool(CHALLENGE.search(head) or (is_small and WATCHER.search(head)))


def _is_json_due(request: Request) -> bool:
    accepts = [value.lower() for name, value in request.headers if name.lower() == "accept"]
    is_named = request.part.endswith(".json") or urlsplit(request.url).path.endswith(".json")
    return is_named or any("json" in value and "html" not in value for value in accepts)


def check_can_heal(answer: Answer, now: datetime) -> None:
    """Raises where asking again later may help.

    Raises:
        TransientFetchError: 429 or 5xx.
        BlockedError: A challenge page, under whatever status.
    """
    if _is_challenge(answer):
        raise BlockedError(f"{shown(answer.url)}: a challenge page for browsers came, status {answer.status}")
    if answer.status == 429 or answer.status >= 500:
        wait_s = retry_after_s(answer.headers.get("retry-after", ""), now)
        raise TransientFetchError(f"{shown(answer.url)}: status {answer.status}", retry_after_s=wait_s)


def check_is_answer(request: Request, answer: Answer) -> None:
    """Raises where an answer does not hold what was asked for.

    Raises:
        BlockedError: 401, 403, a login page, or a page where JSON is due.
        FetchError: 404, 410, any other status that is not 200, or an empty body.
    """
    address = shown(answer.url)
    if answer.status in (401, 403):
        raise BlockedError(f"{address}: status {answer.status}, the provider refuses the request")
    if answer.status in (404, 410):
        raise FetchError(f"{address}: status {answer.status}, the address is gone; look for the new one")
    if answer.status != 200:
        raise FetchError(f"{address}: status {answer.status}, which is no answer")
    if LOGIN.search(urlsplit(answer.url).path) and not LOGIN.search(urlsplit(request.url).path):
        raise BlockedError(f"{address}: the request was sent to a login page")
    if not answer.body.strip():
        raise FetchError(f"{address}: the body is empty")
    if _is_page(answer) and _is_json_due(request):
        raise BlockedError(f"{address}: a page came where JSON is due")
