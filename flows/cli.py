"""The command line. Heavy libraries are imported in the commands that use them, so that answers come fast."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, date, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer

from flows import asking
from flows.settings import Settings, SettingsError, read_settings
from flows.show import Format, out, say

FINE, FINDINGS, WRONG_USE, STOPPED = 0, 1, 2, 143

EARLIEST_NIGHT = date(2020, 1, 1)

app = typer.Typer(
    name="gpu-almanac",
    help="Cloud-GPU prices every night, and the best GPU offer for a generative-AI job.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

FormatOption = Annotated[Format, typer.Option("--format", help="How to print the rows.")]
ProviderOption = Annotated[str | None, typer.Option("--provider", help="Provider that writes it so.")]


@app.command()
def refresh(
    offline: Annotated[bool, typer.Option("--offline", help="Ask no provider; use what is bundled.")] = False,
    source: Annotated[list[str] | None, typer.Option("--source", help="Collect only this source.")] = None,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", help="Take the prices of this held source as they are.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", help="Why --accept is right; it is kept with the release.")
    ] = None,
    night: Annotated[
        str | None, typer.Option("--date", help="Logical date of the night, YYYY-MM-DD.")
    ] = None,
    form: FormatOption = Format.table,
) -> None:
    """Run one night: collect, rank, and publish the database and the page."""
    from flows.nightly import run_night
    from scrapers.registry import names

    for source_id in [*(source or []), *(accept or [])]:
        _known(source_id, names(), "source", "gpu-almanac sources")
    if reason is not None and not accept:
        raise typer.BadParameter("--reason says why a source is accepted; give --accept with it")
    settings = read_settings()
    report = run_night(
        night=_night(night),
        offline=offline,
        only=tuple(source or ()),
        accept=tuple(accept or ()),
        reason=reason,
    )
    _print_night(settings, report, form)
    for source_id in sorted(set(accept or ())):
        if report.outcomes.get(source_id) == "held":
            say(f"{source_id}: still held: a row rule is broken, which cannot be accepted")
        elif source_id not in report.released:
            say(f"{source_id}: not held tonight; there was nothing to accept")
    raise typer.Exit(FINDINGS if report.has_findings else FINE)


app.command()(asking.rank)
app.command()(asking.fit)


@app.command()
def tiers(form: FormatOption = Format.table) -> None:
    """List the workload tiers with the offer that leads each."""
    from flows.answers import best_by_tier

    out(best_by_tier(read_settings()), form)


@app.command()
def gpu(
    name: Annotated[
        str, typer.Argument(help="A spelling such as 'H100 SXM'; - reads lines: text, tab, provider.")
    ],
    provider: ProviderOption = None,
    form: FormatOption = Format.table,
) -> None:
    """Tell which GPU a spelling means; several when it is ambiguous, none when it is unknown."""
    from flows.answers import gpu_meaning

    out([gpu_meaning(text, where) for text, where in _spellings(name, provider)], form)


@app.command()
def region(
    text: Annotated[
        str, typer.Argument(help="A spelling such as us-east-1; - reads lines: text, tab, provider.")
    ],
    provider: ProviderOption = None,
    form: FormatOption = Format.table,
) -> None:
    """Tell which place a region spelling means."""
    from flows.answers import region_meaning

    out([region_meaning(spelling, where) for spelling, where in _spellings(text, provider)], form)


@app.command()
def sources(
    source_id: Annotated[str | None, typer.Argument(help="One source, with its history.")] = None,
    form: FormatOption = Format.table,
) -> None:
    """List the sources with their newest outcome, or the nights of one source."""
    from flows.answers import SOURCE_LISTS, source_history, source_list

    settings = read_settings()
    if source_id is None:
        out(source_list(settings), form)
        return
    told = source_history(settings, source_id)
    if form is Format.json:
        out([told], form)
        return
    facts = {name: value for name, value in told.items() if name not in SOURCE_LISTS}
    listed = {name: "; ".join(value) if isinstance(value, list) else value for name, value in facts.items()}
    out([{"field": name, "value": value} for name, value in listed.items()], form, title=source_id)
    for name in SOURCE_LISTS:
        out(told[name], form, title=name.replace("_", " "))


@app.command()
def collect(
    source_id: Annotated[str, typer.Argument(help="Source to collect.")],
    from_file: Annotated[
        list[Path] | None, typer.Option("--from-file", help="Parse this payload file; ask no provider.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask the provider, write nothing.")] = False,
    form: FormatOption = Format.table,
) -> None:
    """Show the listings, offerings and rejects of one source, without writing the warehouse."""
    from flows.answers import collected_rows
    from scrapers.registry import names

    _known(source_id, names(), "source", "gpu-almanac sources")
    if bool(from_file) == dry_run:
        raise typer.BadParameter("give payload files with --from-file, or ask the provider with --dry-run")
    settings = read_settings()
    parts = collected_rows(settings, source_id, tuple(from_file or ()), night=_night(None))
    if form is Format.json:
        out([parts], form)
        return
    for name, rows in parts.items():
        out(rows, form, title=f"{name}: {len(rows)}")


@app.command(name="new-source")
def new_source(
    source_id: Annotated[str, typer.Argument(help="One lower-case word, such as acme_cloud.")],
    url: Annotated[list[str], typer.Argument(help="Addresses with the prices, https.")],
    from_file: Annotated[
        list[Path] | None,
        typer.Option("--from-file", help="The answer of an address, in their order; ask nobody."),
    ] = None,
) -> None:
    """Begin a provider: write its module, payload and golden file from one answer of each address."""
    from flows.new_source import begin_source
    from scrapers import fetch

    session = fetch.Session(fetch.Settings(contact=read_settings().contact))
    for path in begin_source(source_id, url, from_file or (), session=session, night=_night(None)):
        say(f"wrote {path}")
    say("next: docs/adding_a_provider.md, from step 2 on")


@app.command()
def sql(
    query: Annotated[
        str | None, typer.Argument(help="SQL, or - for standard input; without it the views are listed.")
    ] = None,
    form: FormatOption = Format.table,
) -> None:
    """Query the published database."""
    from warehouse.query import ask

    views = "select view_name, comment from duckdb_views() where not internal order by view_name"
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if query == "-" else query
    answer = ask(read_settings().database, views if text is None else text)
    out(answer.records(), form, columns=answer.columns)


@app.command()
def verify(
    truth: Annotated[
        Path | None, typer.Option("--truth", help="Folder with measurements, in place of the bundled ones.")
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option("--part", help="memory, text, training or generation; may be repeated."),
    ] = None,
    each: Annotated[bool, typer.Option("--rows", help="Print every case.")] = False,
    leave_out: Annotated[
        str | None, typer.Option("--leave-out", help="Predict each gpu or source without its rows: a minute.")
    ] = None,
    form: FormatOption = Format.table,
) -> None:
    """Hold the model to published measurements: how far off, how often silent, class by class."""
    _one_thread_for_small_matrices()
    from flows.accuracy import case_rows, score_tables, verified

    found = verified(truth, part or (), leave_out, say)
    if each:
        # a table of thousands of rows is read by programs
        out(case_rows(found.cases), Format.csv if form is Format.table else form)
        return
    _print_tables(score_tables(found), form)


@app.command()
def calibrate(
    part: Annotated[
        list[str] | None,
        typer.Option("--part", help="memory, text, training or generation; may be repeated."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Fit, and write nothing.")] = False,
    form: FormatOption = Format.table,
) -> None:
    """Fit the coefficients to the bundled measurements, and write them with their intervals: minutes."""
    _one_thread_for_small_matrices()
    from flows.accuracy import calibrated

    _print_tables(calibrated(part or (), is_dry=dry_run, say=say), form)


@app.command()
def page(
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page on this machine.")] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to serve on.")] = 8765,
) -> None:
    """Build the page of the published database anew, or serve it."""
    from flows.site import rebuild, serve_site

    settings = read_settings()
    if serve:
        serve_site(settings.site, port)
    else:
        say(f"built {rebuild(settings)}")


@app.command()
def schedule(
    cron: Annotated[str | None, typer.Option("--cron", help="When to run; default every night.")] = None,
    time_zone: Annotated[str | None, typer.Option("--time-zone", help="Time zone of --cron.")] = None,
) -> None:
    """Serve the night on a schedule until stopped."""
    from flows.schedule import serve_schedule

    settings = read_settings()
    serve_schedule(cron=cron or settings.cron, time_zone=time_zone or settings.time_zone)


@app.command()
def rollback() -> None:
    """Go back to the release before the present one."""
    from warehouse.publish import rollback as go_back

    say(f"public now shows {go_back(read_settings().home).name}")


def main() -> None:
    """Runs the command line; an expected error is one line on stderr and exit code 2."""
    # Bytes of the shell that are no UTF-8 must not reach an output that is.
    sys.argv = [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in sys.argv]
    # A stop by the system ends the servers that were started, as Ctrl-C does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(STOPPED))
    try:
        app()
    except OSError as error:
        say(f"gpu-almanac: {error.filename or 'output'}: {error.strerror}")
        sys.exit(WRONG_USE)
    except Exception as error:
        if not isinstance(error, (SettingsError, *_expected())):
            raise
        say(f"gpu-almanac: {error}")
        sys.exit(WRONG_USE)


def _expected() -> tuple[type[Exception], ...]:
    """Returns the errors that are a message and not a crash, of the modules that are loaded."""
    names = (
        ("warehouse.connection", "WarehouseError"),
        ("scrapers.errors", "CollectError"),
        ("scrapers.errors", "RegistryError"),
        ("transforms.reference.checks", "FactsError"),
        ("transforms.accuracy.measurements", "MeasurementError"),
        ("page.errors", "PageError"),
        ("transforms.workloads.wishes", "JobError"),
        ("transforms.workloads.model_files", "ConfigError"),
        ("flows.answers", "UnknownNameError"),
        ("flows.source_draft", "DraftError"),
    )
    return tuple(getattr(sys.modules[module], name) for module, name in names if module in sys.modules)


def _known(value: str, allowed: list[str], what: str, where: str) -> None:
    if value not in allowed:
        near = get_close_matches(value, allowed, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise typer.BadParameter(f"{value!r} is not a {what}; {hint}`{where}` lists them")


def _night(text: str | None) -> date:
    today = datetime.now(UTC).date()
    if text is None:
        return today
    try:
        night = date.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"--date {text!r} is not a date such as 2026-11-30") from error
    # Nights only go forward, so a date in the future would shut out all real ones.
    if not EARLIEST_NIGHT <= night <= today:
        raise typer.BadParameter(f"--date {text} does not lie between {EARLIEST_NIGHT} and today, {today}")
    return night


def _spellings(text: str, provider: str | None) -> list[tuple[str, str | None]]:
    if text != "-":
        return [(text, provider)]
    pairs = []
    for line in sys.stdin.buffer.read().decode("utf-8", "replace").splitlines():
        spelling, _, where = line.partition("\t")
        pairs.append((spelling, where or provider))
    return pairs


def _one_thread_for_small_matrices() -> None:
    """A least squares of some hundred columns takes four times as long where threads share it; numpy asks at import."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _print_tables(tables: dict[str, list[dict[str, Any]]], form: Format) -> None:
    if form is Format.json:
        out([tables], form)
        return
    for name, rows in tables.items():
        out(rows, form, title=name)


def _print_night(settings: Settings, report: Any, form: Format) -> None:
    from flows.answers import best_by_tier, offline_lines, source_list

    collected, best = source_list(settings, short=True), best_by_tier(settings)
    if form is Format.json:
        out([{"night": report.night, "sources": collected, "tiers": best}], form)
    else:
        out(collected, form, title=f"Sources, night of {report.night}")
        out(best, form, title="Best offer for each job")
    for line in offline_lines(settings) if report.is_offline else ():
        say(line)
    say(f"published {settings.database} and {settings.site / 'index.html'}")
