# Trick: characters reorder what a person reads.
# Refused: unsafe(unicode)
echo 'harmless ‮ ;live lruc'
