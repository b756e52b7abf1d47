"What an adaptation and a study have in common: initial models, a training that keeps to a time, measures, retention, races and grids."
