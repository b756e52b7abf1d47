"Language-adaptive pretraining (LAPT) continues the pretraining of a model on text of the target language."
