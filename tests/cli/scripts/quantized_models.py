"""Writes quantised networks as tools write them (QuantizeLinear, DequantizeLinear) as test cases: FOLDER/{images,rows}/*, of BATCH (1) images and products."""

import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper as h, numpy_helper as n

random = np.random.RandomState(5)


class Network:
    """A graph whose tensors are f32, each behind a quantisation of its own."""

    def __init__(self, signed):
        self.nodes, self.weights = [], []
        self.type = np.int8 if signed else np.uint8
        self.zero = 3 if signed else 121

    def name(self):
        return "t%d" % len(self.nodes)

    def constant(self, value):
        self.weights.append(n.from_array(value, "w%d" % len(self.weights)))
        return self.weights[-1].name

    def add(self, kind, inputs, **attributes):
        self.nodes.append(h.make_node(kind, inputs, [self.name()], name="n%d" % len(self.nodes), **attributes))
        return self.nodes[-1].output[0]

    def quantized(self, x, scale=0.05):
        ends = [self.constant(np.float32(scale)), self.constant(self.type(self.zero))]
        return self.add("DequantizeLinear", [self.add("QuantizeLinear", [x] + ends)] + ends)

    def weight(self, shape, channel):
        """Bytes with a scale for each element of dim `channel`, or one.

        Of seven bits: processors that add pairs of products in 16 bits do not overflow.
        """
        bytes_ = self.constant(random.randint(-63, 64, shape).astype(np.int8))
        if channel is None:
            return self.add("DequantizeLinear", [bytes_, self.constant(np.float32(0.008))])
        scales = random.uniform(0.002, 0.012, shape[channel]).astype("f")
        return self.add("DequantizeLinear", [bytes_, self.constant(scales)], axis=channel)

    def conv(self, x, shape, channel=0, **attributes):
        bias = self.constant(random.randn(shape[0]).astype("f"))
        return self.add("Conv", [x, self.weight(shape, channel), bias], **attributes)

    def save(self, folder, y, shape, result):
        """A model and data of one run by ONNX Runtime."""
        graph = h.make_graph(self.nodes, "quantized", [h.make_tensor_value_info("x", 1, shape)],
                             [h.make_tensor_value_info(y, 1, result)], self.weights)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 13)], ir_version=8)
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        onnx.save(model, os.path.join(folder, "model.onnx"))
        x = random.randn(*shape).astype("f")
        # As it is written: optimisations also quantise biases.
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
        expected = session.run(None, {"x": x})
        for name, value in (("input_0.pb", x), ("output_0.pb", expected[0])):
            onnx.save_tensor(n.from_array(value), os.path.join(data, name))


def images(signed, channel):
    """Convolutions, one of single channels, a sum, the largest of windows, a product."""
    net = Network(signed)
    x = net.quantized("x")
    a = net.quantized(net.add("Relu", [net.conv(x, (16, 3, 3, 3), channel, pads=[1] * 4)]))
    b = net.quantized(net.conv(a, (16, 1, 3, 3), channel, pads=[1] * 4, group=16))
    c = net.quantized(net.conv(b, (22, 16, 1, 1), channel))
    d = net.quantized(net.conv(x, (22, 3, 1, 1), channel))
    e = net.quantized(net.add("Relu", [net.add("Add", [c, d])]), 0.1)
    f = net.quantized(net.add("MaxPool", [e], kernel_shape=[2, 2], strides=[2, 2]), 0.1)
    g = net.quantized(net.conv(f, (8, 22, 3, 2), channel, strides=[2, 1]), 0.1)
    h_ = net.quantized(net.add("Flatten", [g]), 0.1)
    i = net.add("Gemm", [h_, net.weight((80, 10), None), net.constant(random.randn(10).astype("f"))])
    return net, net.quantized(i, 0.2), [batch, 3, 12, 12], [batch, 10]


def rows(signed, channel):
    """Products by weights, and one of two tensors that are computed."""
    net = Network(signed)
    x = net.quantized("x")
    a = net.quantized(net.add("MatMul", [x, net.weight((24, 40), None if channel is None else 1)]))
    b = net.quantized(net.add("Add", [net.add("MatMul", [a, net.weight((40, 24), None)]), x]))
    c = net.quantized(net.add("MatMul", [b, net.add("Transpose", [b], perm=[0, 2, 1])]), 0.5)
    return net, c, [batch, 5, 24], [batch, 5, 5]


folder = sys.argv[1]
batch = int(sys.argv[2]) if len(sys.argv) > 2 else 1
for kind in (images, rows):
    for signed in (False, True):
        for channel in (None, 0):
            net, y, shape, result = kind(signed, channel)
            case = os.path.join(folder, kind.__name__, ("i8" if signed else "u8") + ("" if channel is None else "_each"))
            net.save(case, y, shape, result)
