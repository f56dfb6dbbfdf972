"""Operations that move, pick and arrange elements."""

import numpy as np

INT64_MIN, INT64_MAX = -2**63, 2**63 - 1


def _concat(g):
    shape = list(g.shape(1))
    axis = g.axis(len(shape))
    pieces = []
    for _ in range(g.int(1, 4)):
        piece = list(shape)
        piece[axis] = g.dim()
        pieces.append(g.array(piece))
    return {"inputs": pieces, "axis": axis}


def _split(g):
    shape = list(g.shape(1, least=1))
    axis, parts = g.axis(len(shape)), g.int(1, 4)
    sizes = [g.int(0 if g.coin(0.2) else 1, 4) for _ in range(parts)]
    if g.coin():
        shape[axis] = sum(sizes)
        return {"input": g.array(shape), "split": g.ints(sizes), "axis": axis, "outputs": parts}
    if "num_outputs" not in g.schema.attributes or g.coin():
        shape[axis] = parts * g.int(1, 4)
    return {"input": g.array(shape), "num_outputs": parts, "axis": axis, "outputs": parts}


def _slice(g):
    shape = g.shape(1)
    axes = g.axes(len(shape)) or [0]
    ends = (INT64_MIN, INT64_MAX, INT64_MIN + 1, -2**31, 2**31 - 1)

    def bound(dim):
        return g.pick(*ends) if g.coin(0.2) else g.int(-dim - 2, dim + 2)
    starts = [bound(shape[a]) for a in axes]
    stops = [bound(shape[a]) for a in axes]
    steps = [g.pick(1, 1, 1, 2, 3, -1, -1, -2, INT64_MAX) for _ in axes]
    made = {"data": g.array(shape), "starts": g.ints(starts, constant=g.coin(0.7)),
            "ends": g.ints(stops, constant=g.coin(0.7)), "axes": g.ints(axes)}
    if "steps" in [formal.name for formal in g.schema.inputs] and g.coin(0.7):
        made["steps"] = g.ints(steps)
    return made


def _pad(g):
    shape = g.shape(1)
    axes = g.axes(len(shape)) or [0]
    mode = g.pick("constant", "constant", "reflect", "edge", "wrap")
    some = g.coin() and "axes" in [formal.name for formal in g.schema.inputs]
    count = len(axes) if some else len(shape)
    least = -1 if mode == "constant" and g.coin(0.3) else 0
    return {"data": g.array(shape), "pads": g.ints([g.int(least, 2) for _ in range(2 * count)]),
            "constant_value": g.array(()) if g.coin() else None,
            "value": g.float(-2, 2), "axes": g.ints(axes) if some else None, "mode": mode}


def _transpose(g):
    shape = g.shape()
    return {"data": g.array(shape),
            "perm": g.random.permutation(len(shape)).tolist() if shape and g.coin(0.8) else None}


def _reshape(g):
    shape = g.shape()
    count = int(np.prod(shape))
    target = []
    while count > 1 and len(target) < 4:
        target.append(g.pick(*[d for d in range(1, count + 1) if count % d == 0]))
        count //= target[-1]
    target.append(count)
    if g.coin() and 0 not in target:
        target[g.int(0, len(target) - 1)] = -1
    if g.coin(0.3) and shape and target[0] == shape[0]:
        target[0] = 0
    return {"data": g.array(shape), "shape": g.ints(target),
            "allowzero": g.int(0, 1) if 0 not in target else 1 if 0 in shape else 0}


def _squeeze(g):
    shape = tuple(1 if g.coin() else d for d in g.shape(1))
    ones = [i - (len(shape) if g.coin(0.3) else 0) for i, d in enumerate(shape) if d == 1]
    return {"data": g.array(shape), "axes": g.ints(ones) if ones and g.coin(0.7) else None}


def _unsqueeze(g):
    shape, count = g.shape(0, 3), g.int(1, 2)
    rank = len(shape) + count
    axes = g.random.permutation(rank)[:count]
    return {"data": g.array(shape), "axes": g.ints([int(a) - (rank if g.coin(0.3) and
                                                             g.opset >= 11 else 0) for a in axes])}


def _expand(g):
    shape = g.shape()
    target = [d if d != 1 else g.dim() for d in shape]
    target = [1 if g.coin(0.2) else d for d in target]
    return {"input": g.array(shape), "shape": g.ints([g.dim()] * g.int(0, 1) + target)}


def _tile(g):
    shape = g.shape(0, 3)
    return {"input": g.array(shape), "repeats": g.ints([g.int(0 if g.coin(0.1) else 1, 3)
                                                       for _ in shape])}


def _flatten(g):
    shape = g.shape()
    return {"input": g.array(shape), "axis": g.int(-len(shape) if g.opset >= 11 else 0, len(shape))}


def _indices(g, shape, size):
    low = -size if g.opset >= 11 and g.coin() else 0
    return g.array(shape, low, size - 1, type=g.pick("int64", "int32"))


def _gather(g):
    shape = g.shape(1, least=1)
    axis = g.axis(len(shape))
    return {"data": g.array(shape), "indices": _indices(g, g.shape(0, 2), shape[axis]), "axis": axis}


def _gatherElements(g):
    shape = g.shape(1, least=1)
    axis = g.axis(len(shape))
    other = [g.int(1, d) for d in shape]
    other[axis] = g.dim()
    return {"data": g.array(shape), "indices": _indices(g, other, shape[axis]), "axis": axis}


def _nd(g, shape, batch):
    """Indices of rank 2 or 3 into the dims behind the first `batch`."""
    depth = g.int(1, len(shape) - batch)
    outer = list(shape[:batch]) + list(g.shape(0, 2))
    columns = [g.random.integers(0, d, size=outer) for d in shape[batch:batch + depth]]
    return np.stack(columns, axis=-1), depth


def _gatherND(g):
    shape = g.shape(1, least=1)
    batch = g.int(0, len(shape) - 1) if "batch_dims" in g.schema.attributes else 0
    indices, _ = _nd(g, shape, batch)
    return {"data": g.array(shape), "indices": g.ints(indices), "batch_dims": batch}


def _scatterND(g):
    shape = g.shape(1, least=1)
    depth = g.int(1, len(shape))
    count = g.int(0, 3)
    rows = int(np.prod(shape[:depth]))
    flat = g.random.permutation(rows)[:count]  # each once: the order of updates is not defined
    indices = np.stack(np.unravel_index(flat, shape[:depth]), axis=-1)
    return {"data": g.array(shape), "indices": g.ints(indices),
            "updates": g.array((len(flat),) + tuple(shape[depth:])),
            "reduction": g.pick("none", "none", "add", "mul", "min", "max")}


def _scatterElements(g):
    shape = g.shape(1, least=1)
    axis = g.axis(len(shape))
    other = [g.int(1, d) for d in shape]
    order = np.argsort(g.random.random(other[:axis % len(shape)] + [shape[axis]] +
                                       other[axis % len(shape) + 1:]), axis=axis)
    indices = np.take(order, range(other[axis]), axis=axis)
    return {"data": g.array(shape), "indices": g.ints(indices), "updates": g.array(other),
            "axis": axis, "reduction": g.pick("none", "none", "add", "mul", "min", "max")}


def _oneHot(g):
    shape, depth = g.shape(0, 3), g.int(1, 6)
    g.types["T1"], g.types["T2"] = g.pick("int64", "int32", "float"), g.pick("int64", "int32", "float")
    return {"indices": g.array(shape, -depth - 1, depth + 1, values=np.round(g.random.uniform(
        -depth - 1, depth + 1, shape))), "depth": g.ints(depth, type=g.types["T2"]),
            "values": g.array((2,)), "axis": g.int(-len(shape) - 1, len(shape))}


def _depthSpace(g):
    block = g.int(1, 3)
    n, c, h, w = g.dim(), g.dim(1), g.dim(1), g.dim(1)
    shape = (n, c * block * block, h, w) if g.schema.name == "DepthToSpace" else \
        (n, c, h * block, w * block)
    mode = g.pick("DCR", "CRD")
    return {"input": g.array(shape), "blocksize": block, "mode": mode}


def _trilu(g):
    return {"input": g.array(g.shape(2)), "k": g.ints(g.int(-4, 4)) if g.coin() else None,
            "upper": g.int(0, 1)}


def _topK(g):
    shape = g.shape(1, least=1)
    axis = g.axis(len(shape))
    flat = g.random.permutation(int(np.prod(shape))).reshape(shape)  # no ties
    return {"X": g.array(shape, values=flat % 100 if g.typeOf("T") in ("int8", "uint8") else flat),
            "K": g.ints([g.int(0 if g.coin(0.1) else 1, shape[axis])]), "axis": axis,
            "largest": g.int(0, 1), "sorted": 1, "outputs": 2}


def _reverseSequence(g):
    time, batch = g.dim(1), g.dim(1)
    first = g.int(0, 1)
    shape = ((batch, time) if first else (time, batch)) + g.shape(0, 2)
    return {"input": g.array(shape), "sequence_lens": g.array((batch,), 1, time),
            "time_axis": first, "batch_axis": 1 - first}


def _compress(g):
    shape = g.shape(1)
    axis = g.axis(len(shape)) if g.coin(0.7) else None
    size = shape[axis] if axis is not None else int(np.prod(shape))
    return {"input": g.array(shape), "condition": g.array((g.int(0, size),)), "axis": axis}


def _unique(g):
    shape = g.shape(1, least=1)
    return {"X": g.array(shape, -3, 3), "axis": g.axis(len(shape)) if g.coin() else None,
            "sorted": 1}


def _eyeLike(g):
    return {"input": g.array((g.dim(), g.dim())), "k": g.int(-3, 3)}


def _constantOfShape(g):
    return {"input": g.ints(list(g.shape()))}


def _range(g):
    low, step = g.int(-5, 5), g.pick(1, 2, 3, -1, -2)
    return {"start": g.ints(low, type=g.typeOf("T")), "limit": g.ints(low + step * g.int(-1, 6),
                                                                      type=g.typeOf("T")),
            "delta": g.ints(step, type=g.typeOf("T"))} if "u" not in g.typeOf("T")[:1] else {
                "start": g.ints(1), "limit": g.ints(g.int(0, 9)), "delta": g.ints(g.int(1, 3))}


def _centerCropPad(g):
    shape = g.shape(1, least=1)
    axes = g.axes(len(shape)) if g.coin() else None
    axes = axes or None
    return {"input_data": g.array(shape), "axes": axes,
            "shape": g.ints([g.int(1, 9) for _ in (axes or shape)])}


def _shape(g):
    rank = g.int(0, 4)
    return {"data": g.array(tuple(g.dim() for _ in range(rank))),
            "start": g.int(-rank - 1, rank + 1) if g.coin() else None,
            "end": g.int(-rank - 1, rank + 1) if g.coin() else None}


def _tensorScatter(g):
    batch, steps, width = g.dim(1), g.int(2, 6), g.dim(1)
    update = g.int(1, steps)
    mode = g.pick("linear", "circular")
    high = steps - update if mode == "linear" else steps - 1
    return {"past_cache": g.array((batch, steps, width)), "update": g.array((batch, update, width)),
            "write_indices": g.array((batch,), 0, high), "mode": mode, "axis": g.pick(1, -2)}


GENERATORS = {
    "Concat": _concat, "Split": _split, "Slice": _slice, "Pad": _pad, "Transpose": _transpose,
    "Reshape": _reshape, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Expand": _expand,
    "Tile": _tile, "Flatten": _flatten, "Gather": _gather, "GatherElements": _gatherElements,
    "GatherND": _gatherND, "ScatterND": _scatterND, "ScatterElements": _scatterElements,
    "OneHot": _oneHot, "DepthToSpace": _depthSpace, "SpaceToDepth": _depthSpace, "Trilu": _trilu,
    "TopK": _topK, "ReverseSequence": _reverseSequence, "Compress": _compress, "Unique": _unique,
    "EyeLike": _eyeLike, "ConstantOfShape": _constantOfShape, "Range": _range,
    "CenterCropPad": _centerCropPad, "Shape": _shape, "TensorScatter": _tensorScatter,
}
