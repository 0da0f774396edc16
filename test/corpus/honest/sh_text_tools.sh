#!/usr/bin/env bash
# The classic text tools, joined.
set -euo pipefail
cd /workspace
printf '1 apple\n2 pear\n3 plum\n' > left.txt
printf '1 red\n3 blue\n4 green\n' > right.txt
join left.txt right.txt
comm -12 <(cut -d' ' -f1 left.txt) <(cut -d' ' -f1 right.txt)
paste -d: left.txt right.txt
nl -ba left.txt | tr -s ' ' | sed 's/^ //'
tac left.txt
rev <<< "stressed"
fold -w 10 <<< "the quick brown fox jumps" 
printf 'b\na\nc\na\n' | sort | uniq -d
expr 6 \* 7
seq -s, 1 2 9
echo "one two  three" | tr -s ' ' '\n' | nl
printf '%s\n' alpha beta gamma | column -c 40 | tr '\t' ' ' | tr -s ' '
echo -n "hash me" | sha256sum | cut -c1-16
echo "hello" | base64 | tee encoded.txt | base64 -d
split -l 1 left.txt piece_ && ls piece_*
rm -f left.txt right.txt encoded.txt piece_*
