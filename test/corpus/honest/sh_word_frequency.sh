#!/usr/bin/env bash
# Count the words of a text and show the most frequent ones.
set -euo pipefail

cat > /workspace/poem.txt <<'TEXT'
The wind was a torrent of darkness among the gusty trees,
The moon was a ghostly galleon tossed upon cloudy seas,
The road was a ribbon of moonlight over the purple moor,
And the highwayman came riding, riding, riding.
TEXT

tr -cs '[:alpha:]' '\n' < /workspace/poem.txt \
  | tr '[:upper:]' '[:lower:]' \
  | sort | uniq -c | sort -k1,1nr -k2,2 | head -n 8 \
  | awk '{ printf "%-10s %d\n", $2, $1 }'

echo "lines: $(wc -l < /workspace/poem.txt)"
echo "words: $(wc -w < /workspace/poem.txt)"
