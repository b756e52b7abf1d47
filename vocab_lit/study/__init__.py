"Grids of methods, languages and seeds are computed on one machine or many, kept as records, and set beside the papers' tables and claims."
