#!/usr/bin/env bash
# Parameter expansion instead of external programs.
path=/workspace/reports/2024-05/summary.tar.gz
echo "${path##*/} ${path%/*} ${path%.tar.gz} ${path##*.}"
echo "${#path} ${path:0:10} ${path: -6} ${path/reports/archive}"
name="hello world"
echo "${name^} ${name^^} ${name//o/0} ${name//[aeiou]/_}"
shout=LOUD
echo "${shout,,} ${shout:1:2}"
empty=
echo "[${empty:-default}] [${empty:+set}] [${missing-unset}]"
: "${color:=blue}"
echo "$color"
for f in a.txt b.md c.txt; do
  case $f in
    *.txt) echo "$f: text" ;;
    *.md) echo "$f: markdown" ;;
    *) echo "$f: other" ;;
  esac
done
text="key=value; other=thing"
if [[ $text =~ ([a-z]+)=([a-z]+)\; ]]; then
  echo "first pair: ${BASH_REMATCH[1]} -> ${BASH_REMATCH[2]}"
fi
reverse=
for ((i = ${#name} - 1; i >= 0; i--)); do reverse+=${name:i:1}; done
echo "$reverse"
printf '%q\n' "it's a test"
