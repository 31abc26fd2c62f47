"""The default model exported to ONNX, as it is and as int8: rivals of the embedder where the package onnx is installed.

It is no requirement of the project; see docs/performance.md for what came of it. The export is made once and kept in OSII_HOME.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np
from django.conf import settings

from graphctx.embedders.local_model import BATCH, LocalModel

Encode = Callable[[list[str]], np.ndarray]
INPUTS, OUTPUT, OPSET = ("input_ids", "attention_mask"), "vector", 17
TEXTS_AXES = {0: "texts", 1: "tokens"}


def runtimes(embedder: LocalModel) -> dict[str, Encode]:
    """Name → texts to unit rows; none where onnx is not installed."""
    if importlib.util.find_spec("onnx") is None:
        return {}
    return {f"ONNX {name}": _encode(path, embedder) for name, path in _exported(embedder).items()}


def _exported(embedder: LocalModel) -> dict[str, Path]:
    folder = Path(settings.OSII_HOME) / "benchmarks"
    paths = {kind: folder / f"{embedder.spec.stamp}-{kind}.onnx" for kind in ("float32", "int8")}
    if all(path.exists() for path in paths.values()):
        return paths
    import torch
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder.mkdir(parents=True, exist_ok=True)
    inputs = tuple(torch.ones(2, 8, dtype=torch.long) for _ in INPUTS)
    torch.onnx.export(
        _pooled(embedder), inputs, str(paths["float32"]), dynamo=False, opset_version=OPSET, input_names=list(INPUTS),
        output_names=[OUTPUT], dynamic_axes=dict.fromkeys(INPUTS, TEXTS_AXES) | {OUTPUT: {0: "texts"}},
    )  # fmt: skip
    quantize_dynamic(str(paths["float32"]), str(paths["int8"]), per_channel=True, weight_type=QuantType.QInt8)
    return paths


def _pooled(embedder: LocalModel):
    """The model with the mean over its tokens, at unit length, as one module of tensors."""
    import torch
    from transformers import AutoModel

    model = AutoModel.from_pretrained(str(embedder.directory), attn_implementation="eager").eval()

    class Pooled(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, ids, mask):
            hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
            weights = mask.unsqueeze(-1).to(hidden.dtype)
            return torch.nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9), dim=1)

    return Pooled()


def _encode(path: Path, embedder: LocalModel) -> Encode:
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(embedder.directory / "tokenizer.json"))
    tokenizer.enable_truncation(embedder.spec.max_tokens)
    tokenizer.enable_padding()
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def encode(texts: list[str]) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]), reverse=True)
        made = np.empty((len(texts), embedder.spec.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            places = order[start : start + BATCH]
            tokens = tokenizer.encode_batch([texts[place] for place in places])
            fed = [np.array([getattr(one, field) for one in tokens]) for field in ("ids", "attention_mask")]
            made[places] = session.run(None, dict(zip(INPUTS, fed, strict=True)))[0]
        return made

    return encode
