"Language-adaptive pretraining: a model and text of the new language make a model that has learnt from that text."
