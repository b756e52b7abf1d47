"Grids of models, languages, amounts of text, adaptations and seeds are computed on one machine or many, kept as records, and reported."
