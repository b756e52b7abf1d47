"Tokenizers and their vocabularies: read one, compare two, train one on text, expand one."
