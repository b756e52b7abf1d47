"Compute grids of models, languages, amounts of text, adaptations and seeds on one machine or many, keep them as records, and report them."
