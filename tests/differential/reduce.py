"""Makes a failing model smaller while it fails in the same way."""

import dataclasses
import time

import numpy as np
import onnx
from onnx import numpy_helper

from case import describe, withOutputTypes

SECONDS = 30


def _copied(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.value_info[:]
    return dataclasses.replace(case, model=model, feeds=[dict(feed) for feed in case.feeds])


def _captured(graph):
    """Names that a graph and its subgraphs read."""
    names = {value.name for value in graph.output}
    for node in graph.node:
        names.update(node.input)
    return names.union(*(_captured(inner) for inner in _subgraphs(graph)))


def _replace(field, messages):
    """Puts copies of `messages`, which may be of the field itself, in place of what it holds."""
    copies = [type(one).FromString(one.SerializeToString()) for one in messages]
    del field[:]
    field.extend(copies)


def _subgraphs(graph):
    return [attribute.g for node in graph.node for attribute in node.attribute
            if attribute.HasField("g")]


def _graphs(graph):
    """The graph and those inside it, at any depth."""
    return [graph] + [inner for one in _subgraphs(graph) for inner in _graphs(one)]


def _prune(graph):
    """Takes off what the graph's outputs do not need; a body's inputs stay."""
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input)
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    _prune(attribute.g)
                    needed |= _captured(attribute.g)
    _replace(graph.node, kept[::-1])
    _replace(graph.initializer, [one for one in graph.initializer if one.name in needed])
    del graph.value_info[:]
    return needed


def pruned(case):
    """Without nodes, initialisers and inputs that no output needs."""
    case = _copied(case)
    graph = case.model.graph
    needed = _prune(graph)
    _replace(graph.input, [one for one in graph.input if one.name in needed])
    names = {value.name for value in graph.input}
    case.feeds = [{k: v for k, v in feed.items() if k in names} for feed in case.feeds]
    return case


def _withoutOutput(case, index):
    case = _copied(case)
    del case.model.graph.output[index]
    return pruned(case)


def _withOutput(case, name):
    """With the value `name` as its only output."""
    case = _copied(case)
    del case.model.graph.output[:]
    case.model.graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
    return pruned(case)


def _bypassed(case, place, index, source):
    """Node `index` of the graph at `place` of _graphs replaced by one of its inputs."""
    case = _copied(case)
    graph = _graphs(case.model.graph)[place]
    node = graph.node[index]
    old, new = node.output[0], node.input[source]
    if old in {value.name for value in graph.output}:
        return _renamed(case, graph, index, old, new)
    del graph.node[index]
    for inner in _graphs(graph):
        for other in inner.node:
            _rename(other.input, old, new)
        for value in inner.output:
            value.name = new if value.name == old else value.name
    return pruned(case)


def _rename(names, old, new):
    for place, name in enumerate(names):
        if name == old:
            names[place] = new


def _renamed(case, graph, index, old, new):
    """The same for an output of its graph: the node that makes `new` makes `old` instead."""
    maker = next((n for n in graph.node if new in n.output), None)
    if maker is None or new in {value.name for value in graph.output}:
        return None
    del graph.node[index]
    _rename(maker.output, new, old)
    for inner in _graphs(graph):
        for other in inner.node:
            _rename(other.input, new, old)
        for value in inner.output:
            value.name = old if value.name == new else value.name
    return pruned(case)


def _cut(case, index, values):
    """Node `index` replaced by inputs of the values that it gives."""
    case = _copied(case)
    graph = case.model.graph
    outputs = {value.name for value in graph.output}
    names = [name for name in graph.node[index].output if name]
    if outputs & set(names) or any(name not in values[0] for name in names):
        return None
    del graph.node[index]
    for name in names:
        graph.input.append(describe(name, values[0][name]))
        for feed, known in zip(case.feeds, values):
            feed[name] = known[name]
    return pruned(case)


def _withoutAttribute(case, index, name):
    case = _copied(case)
    node = case.model.graph.node[index]
    _replace(node.attribute, [a for a in node.attribute if a.name != name])
    return case


def _withoutInput(case, index, place):
    case = _copied(case)
    node = case.model.graph.node[index]
    if place == len(node.input) - 1:
        del node.input[place]
    else:
        node.input[place] = ""
    return pruned(case)


def _smaller(case, size, other):
    """Every dim of `size` of inputs and initialisers as `other`."""
    case = _copied(case)

    def cut(array):
        if array.dtype == object or size not in array.shape:
            return array
        return array[tuple(slice(0, other) if d == size else slice(None) for d in array.shape)]
    graph = case.model.graph
    for tensor in graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(
            cut(numpy_helper.to_array(tensor))), tensor.name))
    case.feeds = [{name: np.ascontiguousarray(cut(array)) for name, array in feed.items()}
                  for feed in case.feeds]
    for value in graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value == size:
                dim.dim_value = other
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    return case


def _ones(case, name):
    """An input or initialiser of floats with small whole numbers in it."""
    case = _copied(case)

    def simple(array):
        return np.resize(np.array([1, 2, -1], array.dtype), array.shape)
    for tensor in case.model.graph.initializer:
        if tensor.name == name:
            tensor.CopyFrom(numpy_helper.from_array(simple(numpy_helper.to_array(tensor)), name))
    for feed in case.feeds:
        if name in feed:
            feed[name] = simple(feed[name])
    return case


def _sizes(case):
    arrays = [numpy_helper.to_array(tensor) for tensor in case.model.graph.initializer]
    arrays += [array for feed in case.feeds for array in feed.values()]
    return sorted({d for array in arrays for d in array.shape if d > 1}, reverse=True)


def _floats(case):
    known = [(t.name, numpy_helper.to_array(t)) for t in case.model.graph.initializer]
    known += list(case.feeds[0].items()) if case.feeds else []
    return [name for name, array in known if array.dtype.kind == "f" and array.size and
            not np.array_equal(array, np.resize(np.array([1, 2, -1], array.dtype), array.shape))]


def _values(case, oracle):
    """{name: array} of all values of each data set; None where no peer tells."""
    names = [name for node in case.model.graph.node for name in node.output if name]
    probe = _copied(case)
    del probe.model.graph.output[:]
    probe.model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(n) for n in names)
    answer = oracle.ask("expected", withOutputTypes(probe.model), probe.feeds)
    if not answer.ok:
        return None
    return [dict(zip(names, outputs)) for outputs in answer.outputs]


def _candidates(case, oracle):
    """Smaller cases, the most promising first."""
    graph = case.model.graph
    count = len(graph.node)
    if len(case.feeds) > 1:
        for index in range(len(case.feeds)):
            yield dataclasses.replace(case, feeds=case.feeds[:index] + case.feeds[index + 1:])
    for index in range(len(graph.output) if len(graph.output) > 1 else 0):
        yield _withoutOutput(case, index)
    for node in graph.node[:-1]:
        for name in node.output:
            if name:
                yield _withOutput(case, name)
    values = _values(case, oracle) if count > 1 else None
    for index in reversed(range(count if values else 0)):
        yield _cut(case, index, values)
    for place, inner in enumerate(_graphs(graph)):
        for index, node in enumerate(inner.node):
            for source, name in enumerate(node.input):
                if name:
                    yield _bypassed(case, place, index, source)
    for index in range(count):
        for place in reversed(range(1, len(graph.node[index].input))):
            yield _withoutInput(case, index, place)
        for attribute in graph.node[index].attribute:
            yield _withoutAttribute(case, index, attribute.name)
    for size in _sizes(case):
        yield from (_smaller(case, size, other) for other in {1, size // 2, size - 1} - {size, 0})
    for name in _floats(case):
        yield _ones(case, name)


def reduced(finding, checker):
    """The finding with the smallest case that was reached within SECONDS."""
    end = time.monotonic() + SECONDS
    tried = set()
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for case in _candidates(finding.case, checker.oracle):
            if time.monotonic() > end:
                break
            if case is None:
                continue
            key = hash(case.model.SerializeToString() + b"".join(
                array.tobytes() for feed in case.feeds for array in feed.values()))
            if key in tried:
                continue
            tried.add(key)
            other = checker.again(dataclasses.replace(finding.variant, case=case))
            if other is not None and other.what() == finding.what() and other.sure == finding.sure:
                finding, progress = other, True
                break
    return finding
