"""What can go wrong while the site is built."""

from __future__ import annotations


class PageError(ValueError):
    """The site cannot be built truthfully: an unknown code, a folder that is not empty, a missing catalogue."""
