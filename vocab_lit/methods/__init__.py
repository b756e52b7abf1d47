"Every method of initialisation as a recipe, which decides for two vocabularies where the embedding of each target token comes from."
