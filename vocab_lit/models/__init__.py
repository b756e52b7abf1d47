"Open a pretrained model, give it the target vocabulary, save it for plain transformers; add adapters to it."
