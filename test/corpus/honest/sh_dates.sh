#!/usr/bin/env bash
# Formatting of fixed dates.
export TZ=UTC LC_ALL=C
date -u -d '2024-02-29 13:45:00' '+%A, %d %B %Y %H:%M'
date -u -d '2024-02-29 + 1 year' +%F
date -u -d @1700000000 +%FT%TZ
start=$(date -u -d 2024-01-01 +%s)
end=$(date -u -d 2024-12-31 +%s)
echo "days: $(( (end - start) / 86400 ))"
for d in 2024-03-{08..12}; do
  printf '%s is a %s\n' "$d" "$(date -u -d "$d" +%a)"
done
weekday=$(date -u -d 2024-07-04 +%u)
if [ "$weekday" -ge 6 ]; then echo weekend; else echo "day $weekday of the week"; fi
duration=3725
printf '%02d:%02d:%02d\n' $((duration / 3600)) $((duration % 3600 / 60)) $((duration % 60))
