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
VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
PROOF = re.compile(r"(\d{4}(-\d\d){0,2}|undated): \S.*")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
OPTIONAL = frozenset(
    {
        "segment",
        "provider",
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
    for name_of_optional in ("follow", "parse_together"):
        if not callable(getattr(module, name_of_optional, callable)):
            yield f"{name_of_optional} is no function"
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
    if not PROOF.fullmatch(source.last_proof):
        yield f"last_proof is {source.last_proof!r}, not a date or 'undated', a colon and a few words"
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
    yield from _check_placeholders(source)
    for host in source.allowed_hosts:
        if not HOST.fullmatch(host):
            yield f"allowed host {host!r} is not a plain host name in lower case"
    for requests in (source.requests, source.keyed_requests):
        parts = [request.part for request in requests]
        for part in sorted({part for part in parts if parts.count(part) > 1}):
            yield f"two requests have the part {part!r}"
        for request in requests:
            yield from _check_request(source, request)


def _check_placeholders(source: Source) -> Iterator[str]:
    """The placeholders of addresses are those that `address_env` names, and stand behind the host alone."""
    names = {name for name, _ in source.auth.address_env} if source.auth else set()
    for _, variable in source.auth.address_env if source.auth else ():
        if not VARIABLE.fullmatch(variable):
            yield f"address_env {variable!r} is no name of an environment variable"
    used = {name: request for request in source.keyed_requests for name in PLACEHOLDER.findall(request.url)}
    for name in sorted(used.keys() - names):
        yield f"{used[name].part}: the placeholder {{{name}}} is not in address_env"
    for name in sorted(names - used.keys()):
        yield f"address_env names {name!r}, which no address of keyed_requests has"
    for request in source.requests:
        if PLACEHOLDER.search(request.url):
            yield f"{request.part}: an address that needs no key has a placeholder"
    for request in source.keyed_requests:
        if PLACEHOLDER.search(urlsplit(request.url).netloc):
            yield f"{request.part}: a placeholder stands in the name of the host"


def _check_filter(request: Request) -> Iterator[str]:
    lines = request.keep_lines
    if lines is None:
        return
    words = (*lines.any_of, *(word for group in lines.all_of for word in group))
    if not lines.any_of or not all(lines.all_of):
        yield f"{request.part}: keep_lines has a group without a text"
    if any(not word or b"\n" in word for word in words):
        yield f"{request.part}: keep_lines has a text that is empty or of two lines"
    if lines.head < 0:
        yield f"{request.part}: keep_lines.head is below 0"
    if urlsplit(request.url).scheme == BUNDLED:
        yield f"{request.part}: keep_lines of a bundled file, which is read whole"


def _check_request(source: Source, request: Request) -> Iterator[str]:
    url = urlsplit(request.url)
    if not PART.fullmatch(request.part):
        yield f"part {request.part!r} is no plain file name"
    yield from _check_filter(request)
    if url.scheme == BUNDLED:
        return
    if url.scheme != "https":
        yield f"{request.part}: {request.url} is no https address"
    if url.hostname not in source.allowed_hosts:
        yield f"{request.part}: host {url.hostname} is not in allowed_hosts"
    if (request.body is not None) != (request.method == "POST"):
        yield f"{request.part}: a POST has a body, and a GET has none"
