"Tokenizers and their vocabularies: read one, compare two, train one on text, expand one, trim one, add given tokens to one; carry over what a chat model needs."
