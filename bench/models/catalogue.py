"""What `bench models` measures: how each model is made, its sizes and the speed it is held to."""

import functools
import glob
import os
from dataclasses import dataclass, field
from typing import Callable

import numpy as np
import onnx

from models import collected, convolutional, mobile, quantized, recurrent, transformers
from models.collected import cases

TARGETS = {"vgg19": 2.0, "resnet50": 1.2}  # times as fast as the better peer; 1.0 for the others


@dataclass
class Model:
    """A model; `dims` are its open dimensions at each of its sizes, in the order they appear."""

    name: str
    make: Callable[[], onnx.ModelProto]
    sizes: dict[str, tuple[int, ...]] = field(default_factory=lambda: {"": ()})

    @property
    def target(self):
        return TARGETS.get(self.name, 1.0)

    @property
    def isQuantized(self):
        return self.name.endswith(("_int8", "_dynamic"))


def lines(*widths):
    """Pictures of lines of text, 48 pixels high."""
    return {f"48x{width}": (48, width) for width in widths}


def catalogue():
    """{name: Model} of all models."""
    found = [Model(name, functools.partial(collected.light, name))
             for name in collected.lightNames()]
    for kind, sizes in (("det", {f"{side}x{side}": (side, side) for side in (320, 640, 960)}),
                        ("rec", lines(160, 320, 640)), ("cls", lines(96, 192, 384))):
        found.append(Model(f"ocr_{kind}", functools.partial(collected.ocr, kind), sizes))
    found += [Model("bert_base", transformers.bert, {"128": (128,)}),
              Model("gpt2_small", transformers.gpt2, {"64": (64,)}),
              Model("vit_b16", transformers.vit),
              Model("mobilenet_v2", mobile.mobilenetV2),
              Model("mobilenet_v3", mobile.mobilenetV3),
              Model("efficientnet_b0", mobile.efficientnetB0),
              Model("resnet18", convolutional.resnet18),
              Model("unet", convolutional.unet),
              Model("unet_resize", convolutional.resizedUnet),
              Model("lstm", recurrent.lstm),
              Model("resnet50_int8", quantized.resnet50),
              Model("bert_base_int8", quantized.bert, {"128": (128,)}),
              Model("bert_base_dynamic", quantized.dynamicBert, {"128": (128,)})]
    return {model.name: model for model in found}


def written(model, folder):
    """The path of the model below `folder`, written unless these sources wrote it before."""
    here = os.path.join(folder, model.name)
    key = cases.packageVersions("onnx", "onnxruntime", "numpy")
    for path in sorted(glob.glob(os.path.join(os.path.dirname(__file__), "*.py"))):
        with open(path, encoding="utf-8") as file:
            key += file.read()
    cases.fresh(here, key, lambda new: onnx.save(model.make(), os.path.join(new, "model.onnx")))
    return os.path.join(here, "model.onnx")


def openShape(value, dims):
    """The shape of an input whose open dimensions are `dims`, in order."""
    dims = iter(dims)
    return [dim.dim_value if dim.dim_value > 0 else next(dims)
            for dim in value.type.tensor_type.shape.dim]


def values(random, value, shape):
    """What a caller could feed: pixels and samples, words, a mask with padding at the end."""
    if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
        return random.uniform(-1, 1, shape).astype(np.float32)
    if value.name == "attention_mask":
        return np.repeat([np.arange(shape[1]) < shape[1] * 7 // 8], shape[0], 0).astype(np.int64)
    return random.integers(0, 2 if value.name == "token_type_ids" else 1000, shape)


def feeds(proto, dims):
    """{input: array} for open dimensions `dims`, the batch first."""
    random = np.random.default_rng(7)
    return {value.name: values(random, value, openShape(value, dims))
            for value in cases.fedInputs(proto)}


def symbols(proto, dims):
    """{symbol: its value}, without those that stand for several."""
    known = {}
    for value in cases.fedInputs(proto):
        for dim, size in zip(value.type.tensor_type.shape.dim, openShape(value, dims)):
            if dim.dim_param:
                known.setdefault(dim.dim_param, set()).add(size)
    return {name: sizes.pop() for name, sizes in known.items() if len(sizes) == 1}
