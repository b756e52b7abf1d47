"A pretrained language model is opened, given the target vocabulary by a plan, and saved for plain transformers; adapters are added to it by name."
