"The program `vocab-lit`: commands in groups, made from the settings classes."
