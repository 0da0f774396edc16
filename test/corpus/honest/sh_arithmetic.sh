#!/usr/bin/env bash
# Integer arithmetic, bases, bit operations and bc.
a=17 b=5
echo "$((a + b)) $((a - b)) $((a * b)) $((a / b)) $((a % b)) $((a ** 3))"
echo "$((16#ff)) $((2#1010)) $((a << 2)) $((a & b)) $((a | b)) $((a ^ b)) $((~a))"
(( a += 3, b *= 2 ))
echo "a=$a b=$b max=$(( a > b ? a : b ))"
sum=0
for ((i = 1; i <= 100; i++)); do ((sum += i)); done
echo "sum=$sum"
let "c = a * 2"
echo "c=$c"
fib=(0 1)
while ((${#fib[@]} < 15)); do
  fib+=($(( ${fib[-1]} + ${fib[-2]} )))
done
echo "${fib[@]}"
primes=()
for ((n = 2; n < 50; n++)); do
  for ((d = 2; d * d <= n; d++)); do
    ((n % d == 0)) && continue 2
  done
  primes+=("$n")
done
echo "primes: ${primes[*]}"
printf '%.3f\n' "$(awk 'BEGIN { print 22 / 7 }')"
printf '%x %o %05d\n' 255 8 42
