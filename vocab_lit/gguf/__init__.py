"A GGUF file, as llama.cpp, Ollama and LM Studio run it: its format, read and written, and llama.cpp itself."
