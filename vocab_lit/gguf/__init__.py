"A GGUF file, as llama.cpp, Ollama and LM Studio run it: trim it, extend it, train it, write it again."
