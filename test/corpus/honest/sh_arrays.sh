#!/usr/bin/env bash
# Arrays: append, slice, loop with an index, sort, join.
fruits=(pear apple)
fruits+=(cherry banana)
echo "count: ${#fruits[@]}"
for i in "${!fruits[@]}"; do
  printf '%d=%s\n' "$i" "${fruits[$i]}"
done
echo "middle: ${fruits[@]:1:2}"
mapfile -t sorted < <(printf '%s\n' "${fruits[@]}" | sort)
echo "sorted: ${sorted[*]}"
unset 'fruits[1]'
echo "left: ${fruits[*]} (${!fruits[*]})"
join_by() { local IFS="$1"; shift; echo "$*"; }
join_by , "${sorted[@]}"

declare -A ages=([ann]=31 [bob]=27)
ages[cy]=44
for name in ann bob cy; do
  echo "$name is ${ages[$name]}"
done
[[ -v ages[dan] ]] || echo "dan is not known"
