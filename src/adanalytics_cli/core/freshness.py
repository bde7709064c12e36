"""How fresh the data are, in words."""

from datetime import date, datetime, timedelta

from adanalytics_client._base.quantities import counted


def last_hour(hour: datetime, now: datetime) -> str:
    """Name the last hour with data, by the time at which it begins, and its age."""
    text = f"{hour:%H:%M %Z}" if hour.date() == now.date() else f"{hour:%Y-%m-%d %H:%M %Z}"
    return f"Last hour with data: {text}, {age_of(hour, now)}."


def age_of(hour: datetime, now: datetime) -> str:
    """Return how long ago an hour began: in whole hours up to two days, else in days."""
    hours = (now - hour) // timedelta(hours=1)
    if hours < 1:
        return "this hour"
    return f"{hours} h ago" if hours < 48 else f"{counted(hours // 24, 'day')} ago"


def last_day(day: date, now: datetime) -> str:
    """Name the last day with data, and its age."""
    days = (now.date() - day).days
    age = f"{counted(days, 'day')} ago" if days > 1 else "yesterday" if days == 1 else "today"
    return f"Last day with data: {day}, {age}."
