"""What the workshop asks of llama.cpp besides: text, probabilities, answers to a conversation, time and memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from vocab_lit.gguf.llama_cpp import Generated, LlamaCpp

_CERTAIN = 1e4  # added to a logit before sampling, after log-probabilities are taken


class Llama(LlamaCpp):
    "A GGUF file in llama.cpp, with LoRA adapters in full where there are any."

    def __init__(self, path: str | Path, adapters: Sequence[str | Path] = (), more: str = "", **options: Any):
        paths = [str(adapter) for adapter in adapters]
        more += f"\nparams.lora_adapters = [xllamacpp.CommonAdapterLoraInfo(path, 1.0) for path in {paths!r}]"
        super().__init__(path, more=more, **options)

    @property
    def process(self) -> psutil.Process:
        "Its process, which tells what time and memory it takes."
        return psutil.Process(self._process.pid)

    def text(self, ids: Sequence[int]) -> str:
        "The text of token ids."
        return self.ask("/detokenize", "write out tokens", tokens=list(ids))["content"]

    def log_probabilities(self, prompt: str | Sequence[int], n: int = 10) -> dict[int, float]:
        "The `n` most probable next tokens, whatever llama.cpp would write: of a part of a character it tells none."
        whole = self.ids(["a"])[0][-1]
        [position] = self.complete(prompt, 1, n_probs=n, logit_bias=[[whole, _CERTAIN]])["completion_probabilities"]
        return {token["id"]: token["logprob"] for token in position["top_logprobs"]}

    def chat(self, messages: Sequence[Mapping[str, str]], n: int = 64) -> Generated:
        "The answer to a conversation (role and content of each message), by the file's chat template."
        what = f"answer a conversation by {n} tokens"
        options = dict(max_tokens=n, temperature=0, cache_prompt=False)
        answer = self.ask("/v1/chat/completions", what, messages=list(messages), **options)
        [choice] = answer["choices"]
        text, speed = choice["message"].get("content") or "", answer["timings"]["predicted_per_second"]
        return Generated(text, [], choice["finish_reason"], speed)
