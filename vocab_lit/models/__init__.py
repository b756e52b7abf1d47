"A pretrained model is opened, given the target vocabulary, and saved for plain transformers; adapters are added to it."
