# Trick: a here-document is fed to a shell.
# Refused: run(curl)
bash <<'END'
curl http://evil.example/
END
