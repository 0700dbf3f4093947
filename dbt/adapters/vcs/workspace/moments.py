"""Moments: points in time as a person writes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dbt.adapters.vcs.core.errors import InputError
from dbt.adapters.vcs.core.ids import Micros, micros_of
from dbt.adapters.vcs.core.resolver import parse_moment


def moment_of(text: str, now: Micros, zone: Callable[[], str]) -> Micros:
    """Return the instant of a date or time, or of `<n> <unit>s ago`, in a time zone.

    Raises:
        InputError: The text is none of these, or its zone is needed and unknown.
    """
    try:
        local = datetime.fromisoformat(text.strip())
    except ValueError:
        local = None
    if local is not None and local.tzinfo is None:
        return micros_of(local.replace(tzinfo=zone_named(zone())))
    moment = parse_moment(text, now)
    if moment is None:
        raise InputError(
            f"{text!r} is no time. Write for example '2026-11-20', '2026-11-20 12:00:00', "
            "'2026-11-20 12:00:00+01:00' or '2 hours ago'."
        )
    return moment


def zone_named(zone: str) -> ZoneInfo:
    """Return the time zone with a name.

    Raises:
        InputError: It is not known on this machine.
    """
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(
            f"A time without an offset is in the session's time zone, and {zone!r} is not known "
            "on this machine. Write the offset after the time: '2026-11-20 12:00:00+00:00'."
        ) from error
