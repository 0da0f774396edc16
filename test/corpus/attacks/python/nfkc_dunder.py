# Trick: a special attribute in mathematical letters.
# Refused: unsafe(unicode)
print(().__𝘤𝘭𝘢𝘴𝘴__.__𝘣𝘢𝘴𝘦__)
