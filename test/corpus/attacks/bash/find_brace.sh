# Trick: find runs whatever it finds.
# Refused: run(*)
find /tmp -name tool -exec {} \;
