"""Sets what Prefect reads when it is imported. Import this before Prefect."""

from __future__ import annotations

import os
from pathlib import Path

from flows.settings import SettingsError, read_settings

# Ours win nothing over what the user has set: these are defaults.
_DEFAULTS = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
    "PREFECT_LOGGING_EXTRA_LOGGERS": "flows,scrapers,warehouse,transforms,page",
    "PREFECT_LOGGING_LEVEL": "INFO",
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    "PREFECT_SERVER_LOGGING_LEVEL": "WARNING",
    # Its temporary server takes about 12 s to start on two cores; the default limit is 20 s.
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
}


def prepare() -> None:
    """Puts the defaults into the environment; Prefect's own files go into our home folder."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    folder = Path(os.environ.setdefault("PREFECT_HOME", str((read_settings().home / "prefect").resolve())))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{folder}: cannot be written: {error.strerror}") from error
