#!/usr/bin/env bash
# Editing a configuration file with sed.
set -euo pipefail
conf=/workspace/app.conf
cat > "$conf" <<'CONF'
# server settings
host = localhost
port = 8080
debug = true

[paths]
data = /var/lib/app
log = /var/log/app.log
CONF

sed -i 's/^port = .*/port = 9090/; /^debug/s/true/false/' "$conf"
sed -n '/^\[paths\]/,$p' "$conf"
echo ---
sed -e '/^#/d' -e '/^$/d' "$conf"
echo ---
sed -E 's/^([a-z]+) = (.*)$/\1="\2"/' "$conf" | grep '"'
echo ---
sed '3q;2!d' "$conf"
sed 's|/var/|/srv/|g' "$conf" | grep -o '/srv/[^ ]*'
sed '1i\
first line' "$conf" | head -n 2
echo 'abc' | sed 'y/abc/xyz/'
rm "$conf"
