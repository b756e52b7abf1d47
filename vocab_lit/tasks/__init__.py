"Downstream tasks: a model is fine-tuned on labelled data, whole or with adapters, and scored."
