"""Models in bytes, as onnxruntime.quantization makes them from those in floats."""

import os
import tempfile

import numpy as np
import onnx

from models import convolutional, transformers


class Samples:
    """What the ranges of activations are taken from."""

    def __init__(self, samples):
        self.samples = iter(samples)

    def get_next(self):
        return next(self.samples, None)


def preprocessed(model, folder):
    """The path of the model with its batch normalisations folded and its shapes inferred."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    path, out = (os.path.join(folder, name) for name in ("float.onnx", "prepared.onnx"))
    onnx.save(model, path)
    quant_pre_process(path, out, skip_symbolic_shape=True)
    return out


def static(model, samples, **options):
    """Bytes between all operations: QuantizeLinear and DequantizeLinear, weights by channel."""
    from onnxruntime import quantization

    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "bytes.onnx")
        quantization.quantize_static(preprocessed(model, folder), out, Samples(samples),
                                     per_channel=True,
                                     activation_type=quantization.QuantType.QUInt8,
                                     weight_type=quantization.QuantType.QInt8, **options)
        return onnx.load(out)


def dynamic(model):
    """Products of bytes whose ranges are taken at run time."""
    from onnxruntime import quantization

    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "bytes.onnx")
        quantization.quantize_dynamic(preprocessed(model, folder), out,
                                      weight_type=quantization.QuantType.QInt8)
        return onnx.load(out)


def resnet50():
    random = np.random.default_rng(11)
    return static(convolutional.resnet50(),
                  [{"input": random.uniform(-1, 1, (1, 3, 224, 224)).astype(np.float32)}])


def bert():
    random = np.random.default_rng(11)
    words = {"input_ids": random.integers(0, 1000, (1, 128)),
             "token_type_ids": random.integers(0, 2, (1, 128)),
             "attention_mask": np.ones((1, 128), np.int64)}
    return static(transformers.bert(), [words], op_types_to_quantize=["MatMul"])


def dynamicBert():
    return dynamic(transformers.bert())
