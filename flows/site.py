"""Builds the page of the published database anew, and serves it on this machine."""

from __future__ import annotations

import tempfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from flows.settings import Settings
from flows.show import say
from page.build import build
from warehouse.connection import WarehouseError


def rebuild(settings: Settings) -> Path:
    """Builds the site from the published database beside the old one, then puts it in its place."""
    if not settings.database.exists():
        raise WarehouseError(f"{settings.database}: there is no such file; run `gpu-almanac refresh` first")
    release = settings.database.parent.resolve()
    try:
        scratch = tempfile.TemporaryDirectory(prefix=".site-", dir=release)
    except OSError as error:
        raise WarehouseError(f"{release}: cannot be written: {error.strerror}") from error
    with scratch as folder:
        fresh = Path(folder) / "site"
        build(settings.database, fresh)
        old = Path(folder) / "old"
        site = release / "site"
        if site.exists():
            site.rename(old)
        fresh.rename(site)
    return settings.site


def serve_site(site: Path, port: int) -> None:
    """Serves the published folder on loopback until interrupted, so that the download links work too."""
    if not (site / "index.html").exists():
        raise WarehouseError(f"{site}: there is no page; run `gpu-almanac refresh` first")
    handler = partial(SimpleHTTPRequestHandler, directory=str(site.parent))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise WarehouseError(f"port {port}: {error.strerror}; choose another with --port") from error
    with server:
        say(f"serving http://127.0.0.1:{server.server_port}/site/ (end with Ctrl-C)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("ended")
