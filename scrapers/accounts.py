"""What a source asks for tonight, and as whom: its requests, the key, and the account names of its addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from scrapers.contract import Request, Source
from scrapers.errors import MissingCredentialError
from scrapers.exchange import Secret

SHORTEST_NAME = 6


@dataclass(frozen=True, slots=True)
class Account:
    """Who we are to a provider: the key, and the names that its addresses need."""

    key: Secret
    names: tuple[tuple[str, Secret], ...] = ()

    def shows_in(self, text: str) -> bool:
        """Whether a text gives the key away, as it is or with percent signs, or a name that is no common word."""
        values = [
            self.key.value,
            *(value.value for _, value in self.names if len(value.value) >= SHORTEST_NAME),
        ]
        return any(value in each for each in (text, unquote(text)) for value in values)


def requests_of(source: Source, environ: Mapping[str, str]) -> tuple[tuple[Request, ...], Account | None]:
    """The first requests of a source, and the account that they need.

    Raises:
        MissingCredentialError: The source has only keyed requests, and its key is not set; or the key is set, and
            an account name that an address needs is not.
    """
    key = environ.get(source.auth.env, "").strip() if source.auth else ""
    if key and not re.fullmatch(r"[\x21-\x7e]+", key):
        raise MissingCredentialError(f"{source.auth and source.auth.env} holds characters that no key has")
    if key and source.keyed_requests:
        return source.keyed_requests, Account(Secret(key), _account_names(source, environ))
    if not source.requests:
        name = source.auth.env if source.auth else "the key"
        raise MissingCredentialError(
            f"no key: {name} is not set; {source.name} gives its prices only with a key"
        )
    return source.requests, None


def _account_names(source: Source, environ: Mapping[str, str]) -> tuple[tuple[str, Secret], ...]:
    """What stands for the placeholders of the addresses; an error names the variable and never shows it."""
    found = []
    for name, variable in source.auth.address_env if source.auth else ():
        value = environ.get(variable, "").strip()
        if not value:
            raise MissingCredentialError(f"{variable} is not set; the addresses of {source.name} need it")
        if not re.fullmatch(r"[A-Za-z0-9._-]{1,100}", value) or not value.strip("."):
            raise MissingCredentialError(f"{variable} holds what no account name has")
        found.append((name, Secret(value)))
    return tuple(found)
