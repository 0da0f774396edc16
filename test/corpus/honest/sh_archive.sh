#!/usr/bin/env bash
# Packing, listing and unpacking an archive.
set -euo pipefail
base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
mkdir -p "$base/in" "$base/out"
for i in {1..3}; do echo "content $i" > "$base/in/file$i.txt"; done
tar -C "$base" -czf "$base/all.tar.gz" in
tar -tzf "$base/all.tar.gz" | sort
tar -xzf "$base/all.tar.gz" -C "$base/out" --strip-components=1
ls "$base/out"
if diff -r "$base/in" "$base/out"; then echo same; fi
gzip -k "$base/in/file1.txt"
zcat "$base/in/file1.txt.gz"
chmod 600 "$base/in/file2.txt"
stat -c '%a %s' "$base/in/file2.txt"
(cd "$base/in" && md5sum file*.txt) | cut -d' ' -f1,3
ln -s file1.txt "$base/in/link"
readlink "$base/in/link"
du -b "$base/in/file3.txt" | cut -f1
basename "$base/in/file3.txt" .txt
