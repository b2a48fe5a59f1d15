"""All that the author of a provider must know: a frozen `SOURCE`, and a pure `parse`.

    SOURCE: Source
    def parse(payload: Payload) -> Iterable[Record]: ...
    def follow(payload: Payload) -> Iterable[Request]: ...        # optional: pages, regions

`parse` and `follow` see a payload and nothing else: no clock, environment, file or network. A record is what
the source said, in the source's units; nothing is converted, guessed or filled in. Absent is None, never 0.
Where several kinds of answer reach one parser, it tells them apart by their content, so that a payload file
can be parsed whatever its name is.
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
    "live", "mirror", "machine_collected", "page_html", "page_transcription", "provider_docs", "second_hand"
]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a provider. `part` names the answer and is unique within a night of the source."""

    part: str
    url: str
    method: Literal["GET", "POST"] = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Auth:
    """How a key goes into a request: header `header` gets `template` with `{key}` replaced."""

    env: str
    header: str = "Authorization"
    template: str = "Bearer {key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A place where prices are published, with all that a polite and honest collector must know of it.

    `segment` is None for a source of many providers, or of no offers at all. `requests` need no key.
    `keyed_requests` are asked instead of them when the key is set. A source with only keyed requests ends the
    night as "skipped" without its key.
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
    min_listings: int
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """One way to buy one plan, as the source said it.

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


Record = Listing | Stock | Interruption | ExchangeRate


class Provider(Protocol):
    """A module in `scrapers/providers`."""

    SOURCE: Source

    @staticmethod
    def parse(payload: Payload) -> Iterable[Record]: ...
