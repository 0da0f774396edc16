# Trick: a right-to-left override shows the reader another line than Python reads (CVE-2021-42574).
# Refused: unsafe(unicode)
level = "user‮ ⁦# only admins⁩ ⁦"
print(level == "user")
