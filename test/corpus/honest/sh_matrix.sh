#!/usr/bin/env bash
# Matrices in associative arrays, and a multiplication table.
declare -A m
rows=3 cols=3
for ((r = 0; r < rows; r++)); do
  for ((c = 0; c < cols; c++)); do
    m[$r,$c]=$(( r * cols + c + 1 ))
  done
done
print() {
  local r c
  for ((r = 0; r < rows; r++)); do
    for ((c = 0; c < cols; c++)); do printf '%4d' "${m[$r,$c]}"; done
    printf '\n'
  done
}
print
echo "transposed:"
declare -A t
for ((r = 0; r < rows; r++)); do for ((c = 0; c < cols; c++)); do t[$c,$r]=${m[$r,$c]}; done; done
for ((r = 0; r < rows; r++)); do echo "${t[$r,0]} ${t[$r,1]} ${t[$r,2]}"; done
trace=0
for ((i = 0; i < rows; i++)); do (( trace += m[$i,$i] )); done
echo "trace $trace"
for i in {1..5}; do
  for j in {1..5}; do printf '%3d ' $((i * j)); done
  echo
done
