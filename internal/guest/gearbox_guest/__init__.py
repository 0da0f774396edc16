"""The trusted guest of Gearbox: what runs inside a sandbox beside the program."""
