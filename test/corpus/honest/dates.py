"""Date arithmetic with datetime and calendar."""
import calendar
from datetime import date, datetime, time, timedelta, timezone

start = date(2024, 1, 31)
print(start + timedelta(days=30))
print((date(2025, 3, 1) - date(2024, 3, 1)).days)
print(tuple(map(int, calendar.monthrange(2024, 2))))
print([d.isoformat() for d in (date(2024, 12, 30) + timedelta(days=i) for i in range(3))])
moment = datetime.combine(start, time(13, 5), tzinfo=timezone.utc)
print(moment.isoformat(), moment.strftime("%Y/%m/%d %H:%M"))
parsed = datetime.strptime("2024-02-29 23:59", "%Y-%m-%d %H:%M")
print(parsed.weekday(), calendar.day_name[parsed.weekday()], calendar.isleap(parsed.year))


def business_days(first, last):
    day = first
    while day <= last:
        if day.weekday() < 5:
            yield day
        day += timedelta(days=1)


print(sum(1 for _ in business_days(date(2024, 1, 1), date(2024, 1, 31))))
print(calendar.month(2024, 2))
