"""One language of the site: its messages, and how it writes numbers, money and dates."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import takewhile
from pathlib import Path

from babel import Locale
from babel.dates import format_date
from babel.lists import format_list
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_currency, format_decimal, format_percent
from babel.support import NullTranslations, Translations
from markupsafe import Markup, escape

from page.errors import PageError

LOCALES = Path(__file__).parent / "locales"


@dataclass(frozen=True, slots=True)
class Language:
    """A language that the site can be built in. `folder` is empty for the language at the root."""

    key: str
    html_lang: str
    locale: str
    name: str
    folder: str
    alternates: tuple[str, ...]


LANGUAGES = {
    "en": Language("en", "en", "en", "English", "", ("en", "x-default")),
    "de": Language("de", "de", "de", "Deutsch", "de", ("de",)),
    "fil": Language("fil", "fil", "fil", "Filipino", "fil", ("fil", "tl")),
    "zh": Language("zh", "zh-Hans", "zh_Hans", "简体中文", "zh", ("zh-Hans",)),
}


def load(key: str, locales: Path = LOCALES) -> Texts:
    """Returns the texts of one language. English is the language of the messages and needs no catalogue."""
    if key not in LANGUAGES:
        raise PageError(f"language {key!r}: unknown; use one of {', '.join(LANGUAGES)}")
    language = LANGUAGES[key]
    if key == "en":
        return Texts(language, NullTranslations())
    path = locales / key / "LC_MESSAGES" / "messages.po"
    if not path.is_file():
        raise PageError(f"language {key!r}: no catalogue at {path}; translate messages.pot first")
    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language.locale))
    compiled.seek(0)
    return Texts(language, Translations(compiled))


def name(text: object) -> Markup:
    """Returns a name or code that no language translates, marked so that browsers leave it alone too."""
    return Markup('<span translate="no">{}</span>').format(text)


@dataclass(frozen=True)
class Texts:
    """Messages and formats of one language. Values put into a message are escaped unless they are markup."""

    language: Language
    translations: NullTranslations

    def say(self, message: str, **values: object) -> Markup:
        """Returns the translated message with its named values, each of them escaped."""
        return Markup(self.translations.gettext(message)) % values

    def title(self, text: str) -> Markup:
        """Returns the translation of a title that comes from the facts, or the title where there is none."""
        return escape(self.translations.gettext(text))

    def say_n(self, singular: str, plural: str, count: float, **values: object) -> Markup:
        """Returns the message in the plural form for `count`; `num` is the formatted count."""
        form = int(count) if count == int(count) else 2
        text = self.translations.ngettext(singular, plural, form)
        return Markup(text) % {"num": self.number(count), **values}

    @cached_property
    def babel(self) -> Locale:
        return Locale.parse(self.language.locale)

    def number(self, value: float, digits: int = 2) -> str:
        """Returns a number with at most `digits` decimals: 12,345.6."""
        pattern = "#,##0." + "#" * digits if digits else "#,##0"
        return format_decimal(value, pattern, locale=self.babel)

    def gib(self, value: float) -> str:
        """Returns a share of GPU memory in GiB with one decimal, so that parts can be added up by eye."""
        return self.number(value, 1)

    def quantity(self, value: float) -> str:
        """Returns a measured or computed number with about three digits: 82.7, 108, 0.43."""
        size = abs(value)
        return self.number(value, 0 if size >= 100 else 1 if size >= 10 else 2)

    def money(self, usd: float, digits: int | None = None) -> str:
        """Returns US dollars: two decimals from 10 cents, four below, six below a tenth of a cent."""
        size = abs(usd)
        if digits is None:
            digits = 2 if size >= 0.1 or size == 0 else 4 if size >= 0.001 else 6
        decimals = "0." + "0" * digits if digits else "0"
        pattern = self.babel.currency_formats["standard"].pattern.replace("0.00", decimals)
        return format_currency(usd, "USD", pattern, locale=self.babel, currency_digits=False)

    def total(self, usd: float) -> str:
        """Returns a bill: without cents from 100 dollars up."""
        return self.money(usd, 0) if abs(usd) >= 100 else self.money(usd)

    def percent(self, share: float) -> str:
        """Returns a share as whole per cent: 0.43 is 43%."""
        return format_percent(round(share, 2), locale=self.babel)

    def fine_percent(self, share: float) -> str:
        """Returns a share as per cent with about two digits, however small it is: 0.00079 is 0.079%, 0.43 is 43%."""
        size = abs(share)
        digits = 0 if size >= 0.0995 else 1 if size >= 0.00995 else 2 if size >= 0.000995 else 3
        pattern = self.babel.percent_formats[None].pattern.replace(
            "0", "0." + "0" * digits if digits else "0"
        )
        return format_percent(share, pattern, locale=self.babel)

    def span(self, low: str, high: str) -> str:
        """Returns a range that no line break splits."""
        return f"{low}\u2060–\u2060{high}"

    def day(self, day: dt.date | None) -> Markup:
        """Returns a date as an element that machines can read."""
        if day is None:
            return self.say("day not stated")
        text = format_date(day, "medium", locale=self.babel)
        return Markup('<time datetime="{}">{}</time>').format(day.isoformat(), text)

    def stamp(self, moment: dt.datetime) -> Markup:
        """Returns a point in time in UTC, to the minute."""
        utc = moment.astimezone(dt.UTC)
        day, clock = format_date(utc.date(), "medium", locale=self.babel), utc.strftime("%H:%M")
        text = self.say("%(date)s %(time)s UTC", date=day, time=clock)
        return Markup('<time datetime="{}">{}</time>').format(f"{utc:%Y-%m-%dT%H:%MZ}", text)

    def age(self, days: int | None) -> Markup:
        """Returns the age of a price in days; tonight's price is called so."""
        if days is None:
            return self.say("age not known")
        if days <= 0:
            return self.say("tonight")
        return self.say_n("%(num)s day", "%(num)s days", days)

    def gpu(self, text: str) -> Markup:
        """Returns the short name of a GPU. Candidates joined by " or " show what they have in common, then the rest."""
        short = [re.sub(r"^(NVIDIA |AMD Instinct )(GeForce )?", "", part) for part in text.split(" or ")]
        if len(short) == 1:
            return name(short[0])
        alike = takewhile(lambda words: len(set(words)) == 1, zip(*map(str.split, short), strict=False))
        common = [words[0] for words in alike]
        if not common:
            return Markup(format_list([name(part) for part in short], "or", locale=self.babel))
        if len(short) > 2:
            return self.say_n(
                "%(gpu)s, kind not stated",
                "%(gpu)s, one of %(num)s kinds",
                len(short),
                gpu=name(" ".join(common)),
            )
        rest = [" ".join(part.split()[len(common) :]) or part for part in short]
        kinds = Markup(format_list([name(part) for part in rest], "or", locale=self.babel))
        return self.say("%(gpu)s (%(kinds)s)", gpu=name(" ".join(common)), kinds=kinds)

    def listing(self, parts: Sequence[object]) -> Markup:
        """Returns parts as a list of the language: A, B, and C."""
        return Markup(format_list([escape(part) for part in parts], locale=self.babel))
