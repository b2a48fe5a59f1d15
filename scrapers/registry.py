"""Which providers there are: a walk through the folder `scrapers/providers`, with checks of what each says.

Nothing is listed by hand. A module is imported only when it is asked for, and its import does nothing.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import fields
from types import ModuleType
from typing import get_args
from urllib.parse import urlsplit

import scrapers.providers
from scrapers.contract import Request, Segment, Source, Terms
from scrapers.errors import RegistryError

ID = re.compile(r"[a-z][a-z0-9_]*")
HOST = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
OPTIONAL = frozenset(
    {
        "segment",
        "keyed_requests",
        "auth",
        "off_reason",
        "billing_increment_s",
        "billing_minimum_s",
        "billing_source",
    }
)
BUNDLED = "bundled"


def names() -> list[str]:
    """The ids of all providers, in order, without importing any."""
    return sorted(module.name for module in pkgutil.iter_modules(scrapers.providers.__path__))


def load_one(name: str) -> ModuleType:
    """The module of one provider, checked.

    Raises:
        RegistryError: There is no such provider, it cannot be imported, or what it says of itself is wrong.
    """
    if name not in names():
        raise RegistryError(f"{name}: no provider of this name in scrapers/providers")
    try:
        module = importlib.import_module(f"scrapers.providers.{name}")
    except (
        ImportError,
        SyntaxError,
        TypeError,
        ValueError,
        AttributeError,
        NameError,
        LookupError,
        OSError,
    ) as error:
        raise RegistryError(f"{name}: cannot be imported: {type(error).__name__}: {error}") from error
    problems = list(check(name, module))
    if problems:
        raise RegistryError(f"{name}: " + "; ".join(problems))
    return module


def load() -> dict[str, ModuleType]:
    """The modules of all providers by id, checked.

    Raises:
        RegistryError: The first module that is broken.
    """
    return {name: load_one(name) for name in names()}


def check(name: str, module: ModuleType) -> Iterator[str]:
    """What is wrong with a provider module, one line a fault."""
    source = getattr(module, "SOURCE", None)
    if not isinstance(source, Source):
        yield "SOURCE is missing or is not a Source"
        return
    if not ID.fullmatch(name) or source.id != name:
        yield f"SOURCE.id is {source.id!r}, the module is {name!r}; both must be one lower-case word"
    if not callable(getattr(module, "parse", None)):
        yield "parse is missing"
    if not callable(getattr(module, "follow", callable)):
        yield "follow is no function"
    yield from _check_metadata(source)
    yield from _check_requests(source)


def _check_metadata(source: Source) -> Iterator[str]:
    for field in fields(source):
        value = getattr(source, field.name)
        if field.name not in OPTIONAL and (value is None or (isinstance(value, str) and not value.strip())):
            yield f"{field.name} is empty"
    if source.segment is not None and source.segment not in get_args(Segment):
        yield f"segment is {source.segment!r}, not one of {', '.join(get_args(Segment))}"
    if source.terms not in get_args(Terms):
        yield f"terms is {source.terms!r}, not one of {', '.join(get_args(Terms))}"
    for field_name in ("homepage", "pricing_url", "terms_url"):
        if urlsplit(getattr(source, field_name)).scheme not in ("https", BUNDLED):
            yield f"{field_name} is no https address"
    if source.terms == "restricted" and source.default_on:
        yield "its terms are restricted, but default_on is set"
    if not source.default_on and not source.off_reason:
        yield "it is off, but off_reason is empty"
    if source.min_listings < (0 if source.segment is None else 1):
        yield "min_listings must be 1 or more"
    if source.pace_s < 0 or source.max_body_mb <= 0 or source.cadence.total_seconds() <= 0:
        yield "pace_s, max_body_mb and cadence must be positive"
    if (source.billing_increment_s or source.billing_minimum_s) is not None and not source.billing_source:
        yield "it states a billing increment or minimum without billing_source"


def _check_requests(source: Source) -> Iterator[str]:
    if not source.requests and not source.keyed_requests:
        yield "it has no requests"
    if source.keyed_requests and not source.auth:
        yield "keyed_requests without auth"
    for host in source.allowed_hosts:
        if not HOST.fullmatch(host):
            yield f"allowed host {host!r} is not a plain host name in lower case"
    for requests in (source.requests, source.keyed_requests):
        parts = [request.part for request in requests]
        for part in sorted({part for part in parts if parts.count(part) > 1}):
            yield f"two requests have the part {part!r}"
        for request in requests:
            yield from _check_request(source, request)


def _check_request(source: Source, request: Request) -> Iterator[str]:
    url = urlsplit(request.url)
    if not PART.fullmatch(request.part):
        yield f"part {request.part!r} is no plain file name"
    if url.scheme == BUNDLED:
        return
    if url.scheme != "https":
        yield f"{request.part}: {request.url} is no https address"
    if url.hostname not in source.allowed_hosts:
        yield f"{request.part}: host {url.hostname} is not in allowed_hosts"
    if (request.body is not None) != (request.method == "POST"):
        yield f"{request.part}: a POST has a body, and a GET has none"
