"""Values in messages, which are one line each."""

from __future__ import annotations


def shown(value: object) -> str:
    """What a value looks like, cut where it is long."""
    most = 60
    text = " ".join(repr(value).split())
    return text if len(text) <= most else text[:most] + "..."
