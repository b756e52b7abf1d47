"Methods of initialisation as recipes, which decide where the embedding of each target token comes from."
