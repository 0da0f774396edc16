# Trick: an AttributeError from a format string hands out the object that was formatted (CVE-2026-0863).
# Refused: unsafe(frames)
try:
    "{0.missing}".format(lambda: 0)
except AttributeError as error:
    print(error.obj)
