# Trick: sort runs a compressor.
# Refused: run(./evil)
sort -S 1 --compress-program=./evil big.txt
