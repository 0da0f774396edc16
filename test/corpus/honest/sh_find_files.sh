#!/usr/bin/env bash
# find with -exec and xargs on files of our own.
set -euo pipefail
root=/tmp/project
rm -rf "$root"
mkdir -p "$root"/{src,docs,build/cache}
echo 'print("hi")' > "$root/src/main.py"
echo 'x = 1' > "$root/src/util.py"
printf '# Title\n\nText\n' > "$root/docs/index.md"
echo junk > "$root/build/cache/a.tmp"
echo junk > "$root/build/b.tmp"

cd "$root"
echo "python files:"
find . -name '*.py' -type f | sort
echo "lines:"
find . -type f -name '*.py' -exec wc -l {} + | sort -k2 | awk '{print $1, $2}'
echo "deleting:"
find . -name '*.tmp' -print -delete | sort
find . -type d -empty | sort
find src -name '*.py' -print0 | xargs -0 grep -l 'print' 
find . -name '*.md' -exec sh -c 'for f; do echo "$f has $(wc -l < "$f") lines"; done' _ {} +
printf '%s\n' one two three | xargs -I{} echo "item {}"
seq 6 | xargs -n 2 echo
cd /tmp
rm -rf "$root"
