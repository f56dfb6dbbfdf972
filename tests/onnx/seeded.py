"""Gives a network of ONNX's light folder random weights, as a trained network could have them."""

import os

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import cases

MAX_WEIGHTS = 30_000_000  # elements; vgg19, alexnet and zfnet512 have more
RTOL, ATOL = 1e-3, 1e-5


def weightShapes(model):
    """{name: shape} of all float weights; the light models make the larger by ConstantOfShape."""
    known = {tensor.name: tensor for tensor in model.graph.initializer}
    shapes = {name: list(tensor.dims) for name, tensor in known.items()
              if tensor.data_type == onnx.TensorProto.FLOAT}
    shapes |= {node.output[0]: numpy_helper.to_array(known[node.input[0]]).tolist()
               for node in model.graph.node if node.op_type == "ConstantOfShape"}
    read = {name for node in model.graph.node for name in node.input}
    return {name: shape for name, shape in shapes.items() if name in read}


def roleOf(model, name):
    """(op type, input index) of the node that reads `name`, looked at through changes of shape."""
    node = next(node for node in model.graph.node if name in node.input)
    if node.op_type in ("Reshape", "Unsqueeze"):
        return roleOf(model, node.output[0])
    return node.op_type, list(node.input).index(name)


def weightsOf(model, node, weights):
    """The names in `weights` that `node` reads, looked at through changes of shape."""
    makers = {maker.output[0]: maker.input[0] for maker in model.graph.node
              if maker.op_type in ("Reshape", "Unsqueeze")}
    names = [makers.get(name, name) for name in node.input[1:]]
    return [name for name in names if name in weights]


def randomWeight(random, role, shape):
    """He's initialisation for matrices and filters; gentle values around 0 or 1 for the rest."""
    if role in (("Conv", 1), ("Gemm", 1), ("MatMul", 1)):
        return random.normal(0, np.sqrt(2 / np.prod(shape[1:])), shape)
    if role[0] == "Mul" or role in (("BatchNormalization", 1), ("BatchNormalization", 4)):
        return random.uniform(0.5, 1.5, shape)
    return random.normal(0, 0.1, shape)


def withWeights(model, weights):
    """The model with `weights` as initialisers in place of its own and of ConstantOfShape."""
    kept = [node for node in model.graph.node if node.op_type != "ConstantOfShape"]
    read = {name for node in kept for name in node.input}
    tensors = [tensor for tensor in model.graph.initializer
               if tensor.name in read and tensor.name not in weights]
    tensors += [numpy_helper.from_array(array, name) for name, array in weights.items()]
    inputs = cases.fedInputs(model)
    graph = helper.make_graph(kept, model.graph.name, inputs, model.graph.output, tensors)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def run(model, feeds, names):
    session = onnxruntime.InferenceSession(model.SerializeToString(),
                                           providers=["CPUExecutionProvider"])
    return dict(zip(names, session.run(names, feeds)))


def calibrate(model, weights, feeds):
    """Scales the last layer so that the scores before the softmax spread by about 2.

    Everything behind the last layer up to the softmax is homogeneous of degree 1 (ReLU, pooling).
    """
    last = next(node for node in reversed(model.graph.node) if node.op_type in ("Conv", "Gemm"))
    softmax = [node for node in model.graph.node if node.op_type == "Softmax"]
    scores = softmax[-1].input[0] if softmax else model.graph.output[0].name
    probe = withWeights(model, weights)
    if softmax:
        probe.graph.output.append(helper.make_empty_tensor_value_info(scores))
    spread = float(np.std(run(probe, feeds, [scores])[scores]))
    for name in weightsOf(model, last, weights):
        weights[name] = (weights[name] * (2 / spread)).astype(np.float32)


def seed(model):
    """The light `model` with random weights, and inputs for it."""
    random = np.random.default_rng(2024)
    weights = {weight: randomWeight(random, roleOf(model, weight), shape).astype(np.float32)
               for weight, shape in weightShapes(model).items()}
    feeds = {value.name: random.uniform(
        -1, 1, [dim.dim_value for dim in value.type.tensor_type.shape.dim]).astype(np.float32)
             for value in cases.fedInputs(model)}
    calibrate(model, weights, feeds)
    return withWeights(model, weights), feeds


def export(path, out):
    """Writes OUT/test_<model> for the light model at `path`, unless it is too large."""
    model = onnx.load(path)
    if sum(np.prod(shape) for shape in weightShapes(model).values()) > MAX_WEIGHTS:
        return
    model, feeds = seed(model)
    case = os.path.join(out, f"test_{os.path.basename(path)[len('light_'):-len('.onnx')]}")
    os.makedirs(case)
    onnx.save(model, os.path.join(case, "model.onnx"))
    outputs = run(model, feeds, [value.name for value in model.graph.output])
    cases.writeDataSet(case, 0, feeds, outputs)
    cases.writeTolerance(case, RTOL, ATOL)
