"""Time zones with zoneinfo, falling back to fixed offsets."""
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError


def zone(name, hours):
    try:
        return ZoneInfo(name)
    except ZoneInfoNotFoundError:
        return timezone(timedelta(hours=hours))


meeting = datetime(2024, 1, 15, 9, 30, tzinfo=zone("America/New_York", -5))
for name, hours in [("UTC", 0), ("Europe/Berlin", 1), ("Asia/Tokyo", 9)]:
    local = meeting.astimezone(zone(name, hours))
    print(f"{name:<15} {local:%Y-%m-%d %H:%M} {local.utcoffset()}")
print(meeting.timestamp())
