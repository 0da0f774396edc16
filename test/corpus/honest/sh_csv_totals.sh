#!/usr/bin/env bash
# Totals per region from a CSV file, with awk and a loop.
set -euo pipefail
cd "$(mktemp -d)"

cat > sales.csv <<'CSV'
region,product,units,price
north,apple,10,1.20
south,pear,5,2.50
north,pear,3,2.40
east,apple,7,1.10
south,apple,12,1.15
CSV

echo "Totals:"
awk -F, 'NR > 1 { total[$1] += $3 * $4 } END { for (r in total) printf "%s %.2f\n", r, total[r] }' sales.csv | sort

echo "Units by loop:"
declare -A units=()
while IFS=, read -r region _ count _; do
  [[ $region == region ]] && continue
  units[$region]=$(( ${units[$region]:-0} + count ))
done < sales.csv
for region in $(printf '%s\n' "${!units[@]}" | sort); do
  echo "  $region: ${units[$region]}"
done

cut -d, -f2 sales.csv | tail -n +2 | sort -u | paste -sd' ' -
