"What an adaptation and a study have in common: a time budget, a training that keeps to it, measures, and what must be retained."
