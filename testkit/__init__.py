"""Small worlds for tests and benchmarks: texts, tokenizers, models, processes that are measured."""
