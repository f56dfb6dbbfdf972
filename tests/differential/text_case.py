"""Findings as text: a header of comments, then the model in the syntax of onnx.parser.

    # Why it is here, in a line or more.
    # feeds: {"x": {"shape": [2, 3]}, "n": {"shape": [], "values": [4]}}
    # options: --threads 1
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[2,3] x) => (y) { y = Relu(x) }

Keys: "feeds", one line a data set of the session (random values where none are given); "options" of
`graphrun run`, with DEVICES or WORKERS for a cluster file; "bits", options of a run that must give the
same bits; "expect", outputs where no peer tells them rightly; "open", why it still fails; "like", what
the fuzzer then passes over: kind of finding, operations, pattern of the message (known.py).
"""

import json

import numpy as np
import onnx

from case import Case, withOutputTypes
from operators import QUANTIZED
from values import dtypeOf, tensor
from variants import BASE, Variant

KEYS = ("feeds", "options", "bits", "expect", "open", "like")


def typeName(number):
    return onnx.TensorProto.DataType.Name(number).lower()


def _array(entry, typeName, random):
    shape = tuple(entry["shape"])
    if "values" in entry:
        return np.array(entry["values"], object if typeName == "string" else None).astype(
            dtypeOf(typeName)).reshape(shape)
    return tensor(random, typeName, shape, entry.get("low"), entry.get("high"))


def _declared(value):
    """The shape of an input as the model declares it, 1 for dims that it leaves open."""
    return {"shape": [dim.dim_value if dim.HasField("dim_value") else 1
                      for dim in value.type.tensor_type.shape.dim]}


def _feeds(model, lines):
    fed = [v for v in model.graph.input
           if v.name not in {tensor.name for tensor in model.graph.initializer}]
    random = np.random.default_rng(1)
    return [{value.name: _array(line.get(value.name, _declared(value)),
                                typeName(value.type.tensor_type.elem_type), random)
             for value in fed} for line in lines or [{}]]


def header(text):
    """Of a finding's text: ({key: [values]}, what the rest of the comments says, the model's text)."""
    found, why, rest = {}, [], []
    for line in text.splitlines():
        if not line.startswith("#"):
            rest.append(line)
            continue
        key, colon, value = line[1:].strip().partition(":")
        if colon and key in KEYS:
            found.setdefault(key, []).append(value.strip())
        else:
            why.append(line[1:].strip())
    return found, " ".join(why), "\n".join(rest)


def _options(words, paths):
    return [paths.get(word.lower(), word) if word in ("DEVICES", "WORKERS") else word
            for word in words.split()]


def load(path, paths):
    """(variant, {output: array} that is expected or None, why it is open or "")."""
    with open(path, encoding="utf-8") as file:
        found, why, rest = header(file.read())
    model = withOutputTypes(onnx.parser.parse_model(rest))
    kinds = {node.op_type for node in model.graph.node}
    case = Case(why, model, _feeds(model, [json.loads(line) for line in found.get("feeds", [])]),
                quantized=bool(kinds & QUANTIZED))
    options = _options(found["options"][0], paths) if "options" in found else BASE
    bits = _options(found["bits"][0], paths) if "bits" in found else None
    variant = Variant("finding", case, options, bits, loose="bf16" in options)
    expect = [json.loads(line) for line in found.get("expect", [])]
    return variant, expect or None, " ".join(found.get("open", []))


def _entry(array):
    """An array for the header; None for a type without numbers that JSON has."""
    array = np.asarray(array)
    if array.size > 3000:
        return {"shape": list(array.shape)}
    numbers = array.astype(np.float64) if array.dtype.kind in "Vf" else array
    return {"shape": list(array.shape), "values": numbers.reshape(-1).tolist()}


def dump(finding, again, paths):
    """The finding as such a text."""
    case, variant = finding.case, finding.variant
    back = {path: kind.upper() for kind, path in paths.items()}
    lines = ["# Found " + " ".join(f"{finding.kind}: {finding.message}".split())[:200],
             f"# again: {again}"]
    lines += ["# feeds: " + json.dumps({name: _entry(array) for name, array in feed.items()})
              for feed in case.feeds]
    for key, words in (("options", variant.options), ("bits", variant.bits)):
        if words is not None and words != BASE:
            lines.append(f"# {key}: " + " ".join(back.get(word, word) for word in words))
    return "\n".join(lines) + "\n" + onnx.printer.to_text(case.model) + "\n"
