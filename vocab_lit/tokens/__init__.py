"Tokenizers and their vocabularies: read, compare, train, expand and trim them, add given tokens, and carry over what a chat model needs."
