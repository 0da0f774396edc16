#!/usr/bin/env bash
# Analysing a web server's log.
set -euo pipefail
log=/workspace/access.log
cat > "$log" <<'LOG'
10.0.0.1 - - [01/Mar/2024:10:00:01 +0000] "GET /index.html HTTP/1.1" 200 1024
10.0.0.2 - - [01/Mar/2024:10:00:02 +0000] "GET /api/v1/users HTTP/1.1" 200 512
10.0.0.1 - - [01/Mar/2024:10:00:05 +0000] "POST /api/v1/login HTTP/1.1" 401 64
10.0.0.3 - - [01/Mar/2024:10:01:00 +0000] "GET /missing HTTP/1.1" 404 0
10.0.0.1 - - [01/Mar/2024:10:01:09 +0000] "GET /index.html HTTP/1.1" 304 0
LOG

echo "requests per client:"
awk '{print $1}' "$log" | sort | uniq -c | sort -rn | awk '{print "  " $2 ": " $1}'
echo "status codes:"
awk '{ codes[$9]++ } END { for (c in codes) print "  " c, codes[c] }' "$log" | sort
echo "errors: $(grep -cE '" [45][0-9]{2} ' "$log")"
grep -E '/api/v1|/missing' "$log" | cut -d'"' -f2 | cut -d' ' -f1,2
bytes=$(awk '{ s += $NF } END { print s }' "$log")
echo "bytes: $bytes"
while read -r ip _ _ stamp _; do
  [[ $ip == 10.0.0.3 ]] && echo "seen at ${stamp#[}"
done < "$log"
head -n1 "$log" | grep -oP '\d+:\d+:\d+(?= )'
