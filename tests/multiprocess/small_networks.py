#!/usr/bin/env python3
"""small_networks.py FOLDER: the networks of bench/models in small sizes, as cases of ONNX's form with
seeded inputs and ONNX Runtime's outputs."""

import functools
import os
import sys

import onnx
import onnxruntime

# The folder of this file has a `models` of its own.
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:1] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "tests", "onnx")]
import cases  # noqa: E402
from models import catalogue, convolutional, recurrent, transformers  # noqa: E402

SMALL = {"layers": 2, "width": 96, "count": 3}
# How each is made, and its open dims: batch, length.
NETWORKS = {"bert": (functools.partial(transformers.bert, vocabulary=1000, **SMALL), (2, 19)),
            "vit": (functools.partial(transformers.vit, **SMALL), (1,)),
            "unet": (functools.partial(convolutional.unet, base=12, side=48), (1,)),
            "lstm": (functools.partial(recurrent.lstm, width=33, hidden=40, length=9), (3,))}


def write(name, folder):
    make, dims = NETWORKS[name]
    proto = make()
    os.makedirs(folder)
    onnx.save(proto, os.path.join(folder, "model.onnx"))
    inputs = catalogue.feeds(proto, dims)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    names = [value.name for value in proto.graph.output]
    cases.writeDataSet(folder, 0, inputs, dict(zip(names, session.run(names, inputs))))


if __name__ == "__main__":
    for network in NETWORKS:
        write(network, os.path.join(sys.argv[1], f"test_{network}"))
