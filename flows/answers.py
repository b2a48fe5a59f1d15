"""What the command line answers: rows of plain values, from a published release or from the facts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from flows.settings import Settings
from warehouse.query import ask

Row = dict[str, Any]

# The name for people is long where a spelling is ambiguous; a terminal shows the key, or the spelling with a mark.
GPU_COLUMN = "coalesce(gpu_key, gpu_text || ' (ambiguous)') as gpu"

RANKED_COLUMNS = f"""
    rank, provider, gpus_rented as gpus, {GPU_COLUMN}, plan, purchase, term_months,
    round(objective_usd, 6) as objective_usd, round(total_usd, 2) as total_usd, is_lower_bound,
    round(price_usd_per_instance_hour, 4) as price_usd_per_instance_hour, instances, gpus_per_replica, replicas,
    verdict, round(need_gib, 2) as need_gib, round(usable_gib, 2) as usable_gib, round(load_ratio, 3) as load_ratio,
    round(speed, 3) as speed, round(speed_low, 3) as speed_low, round(speed_high, 3) as speed_high, speed_unit,
    round(ttft_ms, 1) as ttft_ms, certainty, limiting_factor, is_calibrated, engine, flags,
    bill_state, round(total_low_usd, 2) as total_low_usd, round(total_high_usd, 2) as total_high_usd,
    round(objective_low_usd, 6) as objective_low_usd, round(objective_high_usd, 6) as objective_high_usd,
    commitment_break_even_hours, commitment_break_even_share, checkpoint_advice_min, is_spot_sensitive,
    survives_slower, survives_faster, survives_loss,
    round(time_weights_share, 3) as time_weights_share, round(time_cache_share, 3) as time_cache_share,
    round(time_compute_share, 3) as time_compute_share, round(time_link_share, 3) as time_link_share,
    round(time_overhead_share, 3) as time_overhead_share, round(time_prefill_share, 3) as time_prefill_share,
    region_text, availability, nights_in_stock_share, origin, evidence, freshness, price_date, age_days,
    is_headline, would_lead_if
"""


NEAR_COLUMNS = f"gpu_count, {GPU_COLUMN}, provider, reason, detail, margin_ratio"
NEAR_JOB = "exclusion_of_job join current_offering using (offering_id)"

SOURCE_VIEWS = ("source_health", "source_coverage")
SOURCE_LISTS = {
    "nights": """
        select night, outcome, payloads, bytes, listings, offerings, rejects, findings,
            round(seconds, 1) as seconds, reason
        from source_run where source_id = $id order by night desc limit 30
    """,
    "findings": """
        select rule, is_hard, subject, detail from finding
        where source_id = $id and night = (select max(night) from source_run where source_id = $id)
        order by is_hard desc, rule, subject limit 200
    """,
    "acceptances": """
        select night, accepted_at, reason, findings from acceptance
        where source_id = $id order by night desc limit 30
    """,
    "unmapped_gpus": "select * exclude (source_id, night) from unmapped_gpu where source_id = $id limit 200",
}


class UnknownNameError(ValueError):
    """A name that the release does not have."""


@dataclass(frozen=True, slots=True)
class RankedAnswer:
    """Ranked offers of a tier or a job, with what a reader must know of them."""

    title: str
    rows: Sequence[Row]
    notes: Sequence[str]


def ranked_tier(settings: Settings, tier_id: str) -> RankedAnswer:
    """Returns the published ranking of a tier. Raises UnknownNameError with the nearest id."""
    found = ask(settings.database, "select tier_id, title_en, objective from tier order by tier_id").records()
    titles = {row["tier_id"]: row for row in found}
    if tier_id not in titles:
        raise UnknownNameError(_unknown("tier", tier_id, list(titles), "gpu-almanac tiers"))
    rows = ask(
        settings.database,
        f"select {RANKED_COLUMNS} from tier_ranking where tier_id = $tier order by rank",
        {"tier": tier_id},
    ).records()
    reasons = ask(
        settings.database,
        "select reason, is_unknown, offers from tier_exclusion_count where tier_id = $tier",
        {"tier": tier_id},
    ).records()
    following = ask(
        settings.database, "select * from runner_up where tier_id = $tier", {"tier": tier_id}
    ).records()
    near = ask(
        settings.database,
        f"select {NEAR_COLUMNS} from tier_exclusion where tier_id = $tier and is_near_miss",
        {"tier": tier_id},
    ).records()
    tier = titles[tier_id]
    missed = [tuple(row.values()) for row in near]
    notes = [*_notes(rows, reasons), *_next_note(following), *_near_notes(missed), *_price_notes(settings)]
    return RankedAnswer(f"{tier['title_en']} ({tier['objective']})", rows, notes)


def ranked_job(settings: Settings, wishes: Mapping[str, Any]) -> RankedAnswer:
    """Returns the ranking of a job given by its wishes, on the offers of the release.

    Raises JobError for a wish that cannot be.
    """
    from flows.job_flags import described_job
    from flows.rank import rank_jobs
    from transforms.workloads.asked_job import assumed, job_row
    from warehouse.connection import reading

    job = job_row(described_job(wishes))
    with reading(settings.database) as connection:
        night = connection.execute("select night from release").fetchall()[0][0]
        ranked = rank_jobs(connection, job, night=night)
        connection.register("ranking_of_job", ranked.ranking.to_arrow())
        view = "ranking_of_job join current_offering using (offering_id)"
        cursor = connection.execute(f"select {RANKED_COLUMNS} from {view} order by rank")
        names = [column[0] for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        connection.register("exclusion_of_job", ranked.exclusions.filter("is_near_miss").to_arrow())
        near = connection.execute(f"select {NEAR_COLUMNS} from {NEAR_JOB}").fetchall()
    counts = (
        ranked.exclusions.group_by("reason", "is_unknown")
        .len("offers")
        .sort("offers", "reason", descending=True)
    )
    title = f"{job['title_en'][0]} ({job['objective'][0]})"
    asked = f"asked: {assumed(job.row(0, named=True))}"
    notes = [asked, *_notes(rows, counts.to_dicts()), *_near_notes(near), *_price_notes(settings)]
    return RankedAnswer(title, rows, notes)


def in_short(rows: Sequence[Row]) -> list[Row]:
    """Returns ranked rows with the columns that fit a terminal; the other formats have them all."""
    return [
        {
            "rank": row["rank"],
            "offer": f"{row['gpus']:g} x {row['gpu']}",
            "provider": row["provider"],
            "plan": row["plan"] and row["plan"][:24],
            "region": row["region_text"] and row["region_text"][:16],
            "pay": row["purchase"],
            "usd": row["objective_usd"],
            "bill_usd": f"{'at least ' if row['is_lower_bound'] else ''}{row['total_usd']:,.2f}",
            "load": f"{row['load_ratio']:.0%}" if row["load_ratio"] is not None else None,
            "speed": _band(row),
            "sure": row["certainty"],
            "age_days": row["age_days"],
            "note": "leads"
            if row["is_headline"]
            else row["would_lead_if"] and f"if not {row['would_lead_if']}",
        }
        for row in rows
    ]


def best_by_tier(settings: Settings) -> list[Row]:
    """Returns one row per tier: the offer that leads it, or none."""
    return ask(
        settings.database,
        f"""
        select tier_id, gpus_rented as gpus, {GPU_COLUMN}, provider, purchase,
            round(objective_usd, 6) as usd, is_lower_bound as at_least, replace(objective, 'usd_', '') as unit,
            certainty, age_days,
            offers_ranked as ranked, offers_excluded as excluded, offers_unknown as unknown
        from best_by_tier
        """,
    ).records()


def source_list(settings: Settings, *, short: bool = False) -> list[Row]:
    """Returns one row per source with its newest outcome, then the providers that no source asks.

    With `short` only the sources, in the columns that a night is reported in.
    """
    kind, more = ("", "") if short else ("kind,", ", basis, segment, terms, is_on, last_good_night")
    asked = "where kind = 'module'" if short else ""
    return ask(
        settings.database,
        f"""
        select source_id, {kind} outcome, coalesce(listings, offerings) as rows, rejects, age_days,
            round(seconds, 1) as seconds, reason{more}
        from source_health
        {asked}
        order by kind <> 'module', kind, source_id
        """,
    ).records()


def source_history(settings: Settings, source_id: str) -> Row:
    """Returns what is known of a source: its facts, how much of it is covered, and lists of rows.

    The lists are its nights from the newest on, the findings of the newest one, the nights on which its prices were
    accepted by a person, and the listings of GPUs that we do not know. Raises UnknownNameError for another name.
    """
    known = [
        row["source_id"] for row in ask(settings.database, "select source_id from source_health").records()
    ]
    if source_id not in known:
        raise UnknownNameError(_unknown("source", source_id, known, "gpu-almanac sources"))

    def rows(query: str) -> list[Row]:
        return ask(settings.database, query, {"id": source_id}).records()

    lists = {name: _told(rows(query)) for name, query in SOURCE_LISTS.items()}
    facts, coverage = (rows(f"select * from {view} where source_id = $id") for view in SOURCE_VIEWS)
    return {**facts[0], **(coverage[0] if coverage else {}), **lists}


def _told(rows: list[Row]) -> list[Row]:
    """Returns the rows with the columns that at least one of them has a value in."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] is not None for row in rows)]
    return [{name: row[name] for name in names} for row in rows]


def offline_lines(settings: Settings) -> list[str]:
    """Returns one line per group of sources that could not be reached."""
    rows = ask(
        settings.database,
        """
        select
            coalesce(segment, if(basis = 'catalog', 'catalogs', 'exchange rates')) as sort,
            string_agg(source_id, ', ' order by source_id) as ids
        from source_health
        where is_on
            and basis <> 'bundled'
            and outcome in ('failed', 'stale', 'skipped')
            and reason not like 'no key:%'
        group by sort order by sort
        """,
    ).records()
    return [
        f"{row['sort']}: no network for {row['ids']};"
        " their last good night or the bundled list prices stand in"
        for row in rows
    ]


def gpu_meaning(text: str, provider: str | None) -> Row:
    """Returns what a GPU spelling means: one key, several candidates, or none."""
    from transforms.offers.gpu_names import resolve_gpu

    match = resolve_gpu(text, provider)
    return {
        "text": text,
        "provider": provider,
        "gpu_key": match.candidates[0] if len(match.candidates) == 1 else None,
        "candidates": list(match.candidates),
        "count": match.count,
        "fraction": match.fraction,
        "rule": match.rule,
    }


def region_meaning(text: str, provider: str | None) -> Row:
    """Returns the place that a region spelling means, or nulls."""
    from transforms.offers.regions import resolve_region

    place = resolve_region(text, provider)
    return {
        "text": text,
        "provider": provider,
        "region_key": place.region_key,
        "country": place.country,
        "continent": place.continent,
        "is_eu": place.is_eu,
    }


def collected_rows(
    settings: Settings, source_id: str, files: Sequence[Path], *, night: date
) -> dict[str, list[Row]]:
    """Returns what one source gives as rows: listings, offerings, rejects, and other records."""
    from flows.collect import collect_for_show

    return collect_for_show(settings, source_id, files, night=night)


def _short(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def _band(row: Row) -> str | None:
    if row["speed"] is None:
        return None
    return f"{_short(row['speed'])} ({_short(row['speed_low'])} to {_short(row['speed_high'])}) {row['speed_unit']}"


def _notes(rows: Sequence[Row], reasons: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    if not rows:
        lines.append("no offer can do this job, as far as is known")
    elif not any(row["is_headline"] for row in rows):
        lines.append("no offer may lead: see the column would_lead_if")
    lead = next((row for row in rows if row["is_headline"]), None)
    if lead:
        flags = f"; {', '.join(lead['flags'])}" if lead["flags"] else ""
        lines.append(
            f"assumed for the first: {lead['engine']}{flags}; the band is 80 %, queueing is not modelled"
        )
        lines += [_bill_note(lead), *_terms_notes(lead), _firmness_note(lead)]
    if reasons:
        listed = ", ".join(
            f"{row['offers']} {row['reason']}{' (unknown)' if row['is_unknown'] else ''}" for row in reasons
        )
        lines.append(f"not ranked: {listed}")
    return lines


def _bill_note(lead: Row) -> str:
    """Returns how firm the bill of the first is, and what it costs at the ends of the speed band."""
    note = f"bill of the first: {lead['bill_state']}"
    if lead["bill_state"] == "bounded":
        note += f", {lead['total_low_usd']:,.2f} to {lead['total_high_usd']:,.2f} USD"
    low, high = lead["objective_low_usd"], lead["objective_high_usd"]
    if low is not None and high is None:
        note += f"; {low:,.2f} USD of the objective at the fast end of the speed band, too slow at the other"
    elif low is not None and f"{low:.4g}" != f"{high:.4g}":
        note += f"; {low:,.2f} to {high:,.2f} USD of the objective over the speed band"
    return note


def _terms_notes(lead: Row) -> list[str]:
    """Returns from which use on a reservation pays, and how often a spot machine should save its work."""
    notes = []
    if lead["commitment_break_even_share"] is not None:
        hours, share = lead["commitment_break_even_hours"], lead["commitment_break_even_share"]
        notes.append(f"the reservation pays from {hours:,.0f} h of its term on ({share:.0%})")
    if lead["checkpoint_advice_min"] is not None:
        notes.append(f"a checkpoint every {lead['checkpoint_advice_min']:.0f} min loses least")
    if lead["is_spot_sensitive"]:
        notes.append("the place of the first hangs on the assumed rate of losses")
    return notes


def _firmness_note(lead: Row) -> str:
    """Returns whether the GPU of place 1 stays when speeds are lower or higher, and without the offer."""
    tried = {"slower": "survives_slower", "faster": "survives_faster", "without this offer": "survives_loss"}
    told = ", ".join(f"{what} {'yes' if lead[column] else 'no'}" for what, column in tried.items())
    return f"the same GPU would lead: {told}"


def _near_notes(rows: Sequence[tuple[Any, ...]]) -> list[str]:
    """Returns one line per near miss: count, GPU, provider, reason, detail, and by how much."""
    lines = []
    for count, gpu, provider, reason, detail, margin in rows:
        # a wish of the user is met or not, by however much
        by = "" if margin is None or margin > 1 else f", off by {margin:.0%}"
        lines.append(
            f"near miss: {count:g} x {gpu} at {provider}: {reason}{by}" + (f" ({detail})" if detail else "")
        )
    return lines


def _next_note(following: Sequence[Row]) -> list[str]:
    lines = []
    for row in following:
        offer = f"{row['gpus_rented']:g} x {row['gpu_name']} at {row['provider_name']}"
        line = f"next: {offer}, {row['more_usd']:,.2f} USD more"
        if row["break_even_usd_per_instance_hour"] is not None:
            line += f"; it would win below {row['break_even_usd_per_instance_hour']:.4g} USD an hour"
        lines.append(line)
    return lines


def _price_notes(settings: Settings) -> list[str]:
    rows = ask(settings.database, "select night, has_live_price from release").records()
    if rows and not rows[0]["has_live_price"]:
        return [f"night of {rows[0]['night']}: no live price, ranked on bundled list prices"]
    return [f"night of {rows[0]['night']}"] if rows else []


def _unknown(what: str, value: str, known: Sequence[str], command: str) -> str:
    shown = re.sub(r"[^\x20-\x7e]", "?", value)[:80]
    near = get_close_matches(value, known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"{shown!r} is not a {what}; {hint}`{command}` lists them"
