"""All that the author of a provider must know: a frozen `SOURCE`, and a pure `parse`.

    SOURCE: Source
    def parse(payload: Payload) -> Iterable[Record]: ...
    def follow(payload: Payload) -> Iterable[Request]: ...        # optional: pages, regions
    def parse_together(payloads: Sequence[Payload]) -> Iterable[tuple[Payload, Record]]: ...      # optional

`parse` and `follow` see a payload and nothing else: no clock, environment, file or network. A record is what
the source said, in the source's units; nothing is converted, guessed or filled in. Absent is None, never 0.
`parse_together` stands in for `parse` where one record needs several answers: it sees all of a night, and gives
each record with the answer that it counts for. Where several kinds of answer reach one parser, it tells them
apart by their content, so that a payload file can be parsed whatever its name is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Literal, Protocol

Segment = Literal[
    "hyperscaler", "neocloud", "marketplace", "peer_host", "serverless", "reseller", "bare_metal"
]
Terms = Literal["open", "restricted", "unknown"]
PurchaseKind = Literal["on_demand", "spot", "reserved"]
PriceUnit = Literal["second", "minute", "hour", "day", "month", "year", "term"]
PriceState = Literal["priced", "from_price", "bid_floor", "contact_sales", "future"]
Availability = Literal["in_stock", "low", "out_of_stock", "listed_only", "unknown"]
Evidence = Literal[
    "live",
    "mirror",
    "derived",
    "machine_collected",
    "page_html",
    "page_transcription",
    "provider_docs",
    "second_hand",
]
Basis = Literal["own", "mirror", "catalog", "bundled"]


@dataclass(frozen=True, slots=True)
class LineFilter:
    """Which lines of a large text are kept while it is read, so that memory stays small whatever its size.

    Kept are the first `head` lines, and each line that holds one of `any_of` and one of every group of `all_of`.
    A line that is longer than any line of such a text can be is an error, not a line that is left out.
    """

    head: int
    any_of: tuple[bytes, ...]
    all_of: tuple[tuple[bytes, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a provider. `part` names the answer and is unique within a night of the source.

    With `keep_lines` only those lines of the answer are kept, and `max_body_mb` bounds what is kept.
    """

    part: str
    url: str
    method: Literal["GET", "POST"] = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    keep_lines: LineFilter | None = None


@dataclass(frozen=True, slots=True)
class Auth:
    """How a key goes into a request: header `header` gets `template` with `{key}` replaced.

    `address_env` are the account names that an address needs: the placeholder `{team}` of a URL is replaced by
    the variable that stands beside "team".
    """

    env: str
    header: str = "Authorization"
    template: str = "Bearer {key}"
    address_env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place where prices are published, with all that a polite and honest collector must know of it.

    `segment` is None for a source of many providers, or of no offers at all. `requests` need no key.
    `keyed_requests` are asked instead of them when the key is set. A source with only keyed requests ends the
    night as "skipped" without its key.

    `basis` is who says it: the provider itself, a mirror of the provider's own list, a catalog that others keep of
    many providers, or our bundled list. What a provider says itself goes before what others say of it.

    `last_proof` says when and how the shape of its answers was last seen to work: a date or "undated", a colon, a few
    words. "recorded and parsed" stands where a test parses an answer that was recorded.

    `provider` is the provider id of its listings where that is not `id`; a source of many providers has none.
    """

    id: str
    name: str
    segment: Segment | None
    homepage: str
    pricing_url: str
    requests: tuple[Request, ...]
    allowed_hosts: tuple[str, ...]
    terms: Terms
    terms_url: str
    terms_note: str
    terms_reviewed_on: date
    last_proof: str
    min_listings: int
    basis: Basis = "own"
    provider: str | None = None
    keyed_requests: tuple[Request, ...] = ()
    auth: Auth | None = None
    cadence: timedelta = timedelta(hours=24)
    pace_s: float = 1.0
    max_body_mb: int = 64
    default_on: bool = True
    off_reason: str | None = None
    billing_increment_s: int | None = None
    billing_minimum_s: int | None = None
    billing_source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """One answer as it came, with its question. `body` is decoded of its transfer compression only."""

    source_id: str
    part: str
    url: str
    fetched_at: datetime
    body: bytes = field(repr=False)
    status: int = 200
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the unit that the source wrote: GB, GiB, MB, MiB, TB, TiB, bytes."""

    amount: Decimal
    unit: Literal["bytes", "MB", "MiB", "GB", "GiB", "TB", "TiB"]


@dataclass(slots=True, kw_only=True)
class Listing:
    """One way to buy one plan, as the source said it. Nobody changes one; it is not frozen, for that costs six times.

    `gpu_text` is the name of the GPU, or of the plan where the source gives no GPU (p5.48xlarge). `gpu_memory`
    is of one GPU, or of all of them when `gpu_memory_is_total`. `price` is in `currency` per `price_per` and
    `price_unit`; for unit "term" it is the whole price of `term_months`. `upfront` is what a reservation costs
    on top, once. `place` says where in the payload the row stands.
    """

    provider: str
    plan: str
    gpu_text: str
    price: Decimal | None
    currency: str | None
    price_per: Literal["gpu", "instance"]
    price_unit: PriceUnit
    purchase: PurchaseKind
    place: str
    price_state: PriceState = "priced"
    product: str | None = None
    segment: Segment | None = None
    gpu_count: Decimal | None = None
    gpu_memory: Quantity | None = None
    gpu_memory_is_total: bool = False
    form_factor_text: str | None = None
    link_text: str | None = None
    fabric_text: str | None = None
    vcpus: Decimal | None = None
    ram: Quantity | None = None
    disk: Quantity | None = None
    term_months: int | None = None
    upfront: Decimal | None = None
    regular_price: Decimal | None = None
    region_text: str | None = None
    zone_text: str | None = None
    availability: Availability = "unknown"
    availability_text: str | None = None
    available_count: int | None = None
    valid_from: date | None = None
    billing_increment_s: int | None = None
    billing_minimum_s: int | None = None
    storage_price_per_gb_month: Decimal | None = None
    egress_price_per_gb: Decimal | None = None
    ingress_price_per_gb: Decimal | None = None
    evidence: Evidence = "live"
    as_of: date | None = None
    source_url: str | None = None
    origin: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """Whether a plan can be had, from an endpoint apart from the prices. Joined by provider, plan and region."""

    provider: str
    plan: str
    region_text: str | None
    availability: Availability
    availability_text: str
    place: str
    purchase: PurchaseKind | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruption:
    """How often spot machines of a plan are lost, as the provider states it: a band of a share per month."""

    provider: str
    plan: str
    region_text: str | None
    monthly_low_pct: Decimal
    monthly_high_pct: Decimal | None
    saving_pct: Decimal | None
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRate:
    """One unit of `base` is `rate` units of `quote`, as fixed on `rate_date`."""

    base: str
    quote: str
    rate: Decimal
    rate_date: date
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """What a provider bills beside its machines: one GB of a standard disk for a time, or one GB of traffic.

    Only what a plain machine uses is an Extra: the general block storage, and traffic with the internet. `from_gb`
    is where the step of a tiered price begins within a month, 0 for the first. `region_text` is None for a price
    that holds in every region.
    """

    provider: str
    kind: Literal["storage", "egress", "ingress"]
    name: str
    price: Decimal
    currency: str
    per: Literal["gb_month", "gib_month", "gb_hour", "gib_hour", "gb", "gib"]
    region_text: str | None
    place: str
    from_gb: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCount:
    """How many rows a list has in all, as its page declares it, and how many stand on this page.

    Pages of one list share `list_name`. Rows are counted before any is left out.
    """

    list_name: str
    declared: int
    rows: int
    place: str


Record = Listing | Stock | Interruption | ExchangeRate | Extra | PageCount


class Provider(Protocol):
    """A module in `scrapers/providers`."""

    SOURCE: Source

    @staticmethod
    def parse(payload: Payload) -> Iterable[Record]: ...
