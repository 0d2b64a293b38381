"""When something is due: cron text of five fields, or ``@hourly``, ``@daily``, ``@weekly``, ``@monthly``, ``@yearly``. All in UTC."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import SqlError, did_you_mean

if TYPE_CHECKING:
    from cronsim import CronSim

NAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
_SECOND: Final = dt.timedelta(seconds=1)


def validate(schedule: str) -> None:
    """Refuse text that is not a schedule, or that no day ever meets.

    Raises:
        SqlError: It is none.

    Example:
        >>> validate("@daily"), validate("30 6 * * mon-fri")
        (None, None)
    """
    next_time(schedule, dt.datetime(2000, 1, 1, tzinfo=dt.UTC))


def next_time(schedule: str, after: dt.datetime) -> dt.datetime:
    """Return the first moment after this one at which it is due, UTC; a moment without a zone is taken as UTC.

    Raises:
        SqlError: The text is not a schedule.

    Example:
        >>> next_time("@daily", dt.datetime(2026, 2, 28, 12, 30, tzinfo=dt.UTC)).isoformat()
        '2026-03-01T00:00:00+00:00'
    """
    return _first(schedule, _ticks(schedule, _utc(after)))


def last_due(schedule: str, before: dt.datetime) -> dt.datetime:
    """Return the latest moment at which it was due, this one included, UTC.

    Raises:
        SqlError: The text is not a schedule.

    Example:
        >>> last_due("0 6 * * *", dt.datetime(2026, 3, 1, 6, 0, tzinfo=dt.UTC)).isoformat()
        '2026-03-01T06:00:00+00:00'
    """
    return _first(schedule, _ticks(schedule, _utc(before).replace(microsecond=0) + _SECOND, reverse=True))


def _utc(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)


def _ticks(schedule: str, start: dt.datetime, *, reverse: bool = False) -> CronSim:
    from cronsim import CronSim, CronSimError

    text = schedule.strip().lower()
    cron = NAMES.get(text, text)
    if text.startswith("@") and text not in NAMES:
        raise _refused(schedule, did_you_mean(text, NAMES))
    if len(cron.split()) != 5:
        raise _refused(schedule, "; cron text has five fields: minute, hour, day, month, day of week")
    try:
        return CronSim(cron, start, reverse=reverse)
    except CronSimError as error:
        raise _refused(schedule, f": {str(error)[:1].lower()}{str(error)[1:]}") from None


def _first(schedule: str, ticks: CronSim) -> dt.datetime:
    moment = next(ticks, None)
    if moment is None:
        raise _refused(schedule, ": no day ever meets it")
    return moment


def _refused(schedule: str, why: str) -> SqlError:
    names = ", ".join(NAMES)
    return SqlError(f"no schedule: {schedule!r}{why}", code="E3080", hint=f"such as '30 6 * * *' (UTC), or {names}")
