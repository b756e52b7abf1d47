"Auxiliary (static) embeddings of words and tokens: trained on text, read from files, aligned between two languages."
