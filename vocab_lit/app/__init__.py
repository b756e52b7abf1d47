"From a model folder and a text file to a model in a new language, with a report."
