"A model in the file that llama.cpp, Ollama and LM Studio run: trimmed, extended, and made of what was trained."
