"Methods of initialisation, written as recipes, decide where the embedding of each target token comes from."
