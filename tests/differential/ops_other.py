"""Quantisation, losses, signals, vision, attention, text."""

import numpy as np


def _quantShapes(g, shape):
    """(axis, block size, shape of scale): per tensor, per axis or in blocks."""
    roll = g.random.random()
    if roll < 0.5 or not shape or g.opset < 13:
        return None, None, ()
    axis = g.axis(len(shape))
    if roll < 0.8 or g.opset < 21:
        return axis, None, (shape[axis],)
    block = g.int(1, 3)
    scale = list(shape)
    scale[axis] = -(-shape[axis] // block)
    return axis, block, tuple(scale)


_STORED = ("uint8", "int8", "uint16", "int16", "int4", "uint4", "float8e4m3fn", "float8e5m2")


def _stored(g, variable):
    allowed = next(c.allowed_type_strs for c in g.schema.type_constraints
                   if c.type_param_str == variable)
    return g.pick(*[name for name in _STORED if f"tensor({name})" in allowed])


def _quantize(g):
    shape = g.shape(0, 4, least=1)
    axis, block, scale = _quantShapes(g, shape)
    kind = _stored(g, g.schema.inputs[2].type_str)
    g.types[g.schema.inputs[2].type_str] = kind
    zero = g.array(scale, 0, 0 if kind.startswith("float8") else 6) if g.coin() else None
    if zero is None and kind != "uint8":
        zero = g.array(scale, 0, 0)
    return {"x": g.array(shape), "y_scale": g.array(scale, 0.05, 0.3), "y_zero_point": zero,
            "axis": axis, "block_size": block}


def _dequantize(g):
    shape = g.shape(0, 4, least=1)
    axis, block, scale = _quantShapes(g, shape)
    allowed = [name for name in _STORED + ("int32",) if f"tensor({name})" in next(
        c.allowed_type_strs for c in g.schema.type_constraints
        if c.type_param_str == g.schema.inputs[0].type_str)]
    kind = g.pick(*allowed)
    g.types[g.schema.inputs[0].type_str] = kind
    zero = g.coin() and kind != "int32" and not kind.startswith("float8")
    return {"x": g.array(shape), "x_scale": g.array(scale, 0.05, 0.3),
            "x_zero_point": g.array(scale, 0, 6) if zero else None, "axis": axis, "block_size": block}


def _dynamicQuantize(g):
    return {"x": g.array(g.shape(least=1)), "outputs": 3}


def _qlinearMatmul(g):
    m, k, n = g.dim(1), g.dim(1), g.dim(1)
    made = {"a": g.array((m, k)), "b": g.array((k, n)), "outputs": 1}
    for name in "aby":
        made[f"{name}_scale"] = g.array((), 0.02, 0.3)
        made[f"{name}_zero_point"] = g.array((), 0, 5)
    return made


def _qlinearConv(g):
    channels, filters, kernel = g.int(1, 5), g.int(1, 5), g.int(1, 3)
    per = (filters,) if g.coin() else ()
    return {"x": g.array((g.dim(1, 2), channels, g.int(3, 8), g.int(3, 8))),
            "x_scale": g.array((), 0.02, 0.3), "x_zero_point": g.array((), 0, 5),
            "w": g.array((filters, channels, kernel, kernel)), "w_scale": g.array(per, 0.02, 0.3),
            "w_zero_point": g.array(per, 0, 0), "y_scale": g.array((), 0.1, 0.5),
            "y_zero_point": g.array((), 0, 5), "pads": [g.int(0, 1)] * 4,
            "B": g.array((filters,)) if g.coin() else None,
            "strides": [g.int(1, 2)] * 2 if g.coin() else None}


def _loss(g):
    n, classes, inner = g.dim(1), g.dim(1), g.shape(0, 2, least=1)
    scores, labels = g.schema.inputs[0].name, g.schema.inputs[1].name
    return {scores: g.array((n, classes) + inner),
            labels: g.array((n,) + inner, 0, classes - 1, type=g.pick("int64", "int32")),
            g.schema.inputs[2].name: g.array((classes,), 0.2, 2) if g.coin() else None,
            "reduction": g.pick("none", "mean", "sum"),
            "ignore_index": g.int(0, classes - 1) if g.coin(0.3) else None}


_EQUATIONS = ("ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,j->ij", "bhid,bhjd->bhij",
              "ij,ij->", "...ij,...jk->...ik", "ijk->kj", "ii", "i,i", "ij,kj", "abc,cd,de->abe",
              "...i->...", "bij,bkj->bik")


def _einsum(g):
    equation = g.pick(*_EQUATIONS)
    sizes = {letter: g.dim(1, 6) for letter in "abcdehijk"}
    extra = g.shape(0, 2, least=1)
    arrays = []
    for term in equation.split("->")[0].split(","):
        shape = extra if term.startswith("...") else ()
        arrays.append(g.array(tuple(shape) + tuple(sizes[c] for c in term.replace(".", ""))))
    return {"Inputs": arrays, "equation": equation}


def _det(g):
    n = g.int(1, 5)
    return {"X": g.array(g.shape(0, 2, least=1) + (n, n))}


def _dft(g):
    shape = g.shape(1, 3, least=1) + (g.dim(1), g.pick(1, 2))
    axis = g.int(0, len(shape) - 2)
    onesided = g.int(0, 1) if shape[-1] == 1 else 0
    return {"input": g.array(shape), "axis": g.ints(axis), "onesided": onesided,
            "inverse": 0 if onesided else g.int(0, 1),
            "dft_length": g.ints(g.int(1, 9)) if g.coin(0.3) else None}


def _stft(g):
    length, frame = g.int(8, 30), g.int(2, 8)
    return {"signal": g.array((g.dim(1, 3), length, 1)), "frame_step": g.ints(g.int(1, 4)),
            "frame_length": g.ints(frame), "window": g.array((frame,), 0, 1) if g.coin() else None,
            "onesided": g.int(0, 1)}


def _windowFunction(g):
    return {"size": g.ints(g.int(1, 12)), "periodic": g.int(0, 1)}


def _mel(g):
    return {"num_mel_bins": g.ints(g.int(1, 8)), "dft_length": g.ints(g.pick(16, 32)),
            "sample_rate": g.ints(g.pick(8000, 16000)),
            "lower_edge_hertz": g.array((), 0, 100), "upper_edge_hertz": g.array((), 2000, 4000)}


def _affineGrid(g):
    n, spatial, aligned = g.dim(1, 3), g.pick(2, 3), g.int(0, 1)
    least = 1 + aligned  # peers differ on where the corners of one element are
    return {"theta": g.array((n, spatial, spatial + 1)), "align_corners": aligned,
            "size": g.ints([n, g.int(1, 3)] + [g.int(least, 5) for _ in range(spatial)])}


def _roiAlign(g):
    n, rois = g.dim(1, 3), g.int(0 if g.coin(0.1) else 1, 4)
    low = g.random.uniform(0, 4, (rois, 2))
    boxes = np.concatenate([low, low + g.random.uniform(0.5, 5, (rois, 2))], axis=1)
    return {"X": g.array((n, g.dim(1), g.int(1, 9), g.int(1, 9))), "rois": g.array((), values=boxes),
            "batch_indices": g.array((rois,), 0, n - 1), "mode": g.pick("avg", "max"),
            "output_height": g.int(1, 3), "output_width": g.int(1, 3),
            "sampling_ratio": g.int(0, 3), "spatial_scale": g.pick(1.0, 0.5),
            "coordinate_transformation_mode": g.pick("half_pixel", "output_half_pixel")}


def _maxRoiPool(g):
    rois, n = g.int(1, 3), g.int(1, 2)
    low = g.random.integers(0, 4, (rois, 2))
    boxes = np.concatenate([g.random.integers(0, n, (rois, 1)), low,
                            low + g.random.integers(0, 4, (rois, 2))], axis=1)
    return {"X": g.array((n, g.dim(1), g.int(2, 9), g.int(2, 9))), "rois": g.array((), values=boxes),
            "pooled_shape": [g.int(1, 3), g.int(1, 3)], "spatial_scale": g.pick(1.0, 0.5)}


def _nms(g):
    boxes, classes, n = g.int(1, 8), g.int(1, 3), g.int(1, 2)
    low = g.random.uniform(0, 3, (n, boxes, 2))
    corners = np.concatenate([low, low + g.random.uniform(0.5, 3, (n, boxes, 2))], axis=2)
    return {"boxes": g.array((), values=corners), "scores": g.array((n, classes, boxes), 0, 1),
            "max_output_boxes_per_class": g.ints([g.int(0, 5)]) if g.coin(0.9) else None,
            "iou_threshold": g.array((1,), 0.1, 0.9) if g.coin(0.7) else None,
            "score_threshold": g.array((1,), 0, 0.6) if g.coin(0.7) else None,
            "center_point_box": g.int(0, 1)}


def _attention(g):
    batch, kv, times, size = g.int(1, 2), g.int(1, 2), g.int(1, 2), g.pick(2, 4, 8)
    heads, query, keys = kv * times, g.int(1, 5), g.int(1, 6)
    made = {"scale": g.float(0.1, 1) if g.coin(0.3) else None,
            "softcap": g.float(1, 5) if g.coin(0.2) else None, "outputs": 1}
    if g.coin():
        made.update(Q=g.array((batch, heads, query, size)), K=g.array((batch, kv, keys, size)),
                    V=g.array((batch, kv, keys, size)))
    else:
        made.update(Q=g.array((batch, query, heads * size)), K=g.array((batch, keys, kv * size)),
                    V=g.array((batch, keys, kv * size)), q_num_heads=heads, kv_num_heads=kv)
    if g.coin(0.3):
        made["is_causal"] = 1
    elif g.coin():
        made["attn_mask"] = g.array(g.pick((query, keys), (batch, 1, query, keys)))
    return made


def _rotary(g):
    batch, heads, steps, size = g.int(1, 2), g.int(1, 3), g.int(1, 4), g.pick(2, 4, 8)
    ids = g.coin()
    cache = (steps + 2, size // 2) if ids else (batch, steps, size // 2)
    return {"X": g.array((batch, heads, steps, size)), "cos_cache": g.array(cache),
            "sin_cache": g.array(cache), "interleaved": g.int(0, 1),
            "position_ids": g.array((batch, steps), 0, steps + 1) if ids else None}


def _deformConv(g):
    n, c, f, k, h, w = g.int(1, 2), g.int(1, 3), g.int(1, 3), g.int(1, 3), g.int(3, 6), g.int(3, 6)
    out = (h - k + 1, w - k + 1)
    return {"X": g.array((n, c, h, w)), "W": g.array((f, c, k, k)), "pads": [0] * 4,
            "offset": g.array((n, 2 * k * k) + out, -1, 1), "B": g.array((f,)) if g.coin() else None,
            "mask": g.array((n, k * k) + out, 0, 1) if g.coin() else None, "kernel_shape": [k, k]}


def _stringConcat(g):
    shape = g.shape()
    return {"X": g.array(shape), "Y": g.array(g.broadcast(shape))}


def _stringSplit(g):
    return {"X": g.array(g.shape(0, 2)), "delimiter": g.pick(None, " ", "b"),
            "maxsplit": g.int(1, 2) if g.coin() else None, "outputs": 2}


def _regex(g):
    return {"X": g.array(g.shape()), "pattern": g.pick("a.*", "[a-z]+", "", "B|a")}


GENERATORS = {
    "QuantizeLinear": _quantize, "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamicQuantize, "QLinearMatMul": _qlinearMatmul,
    "QLinearConv": _qlinearConv, "NegativeLogLikelihoodLoss": _loss,
    "SoftmaxCrossEntropyLoss": _loss, "Einsum": _einsum, "Det": _det, "DFT": _dft, "STFT": _stft,
    "BlackmanWindow": _windowFunction, "HannWindow": _windowFunction,
    "HammingWindow": _windowFunction, "MelWeightMatrix": _mel, "AffineGrid": _affineGrid,
    "RoiAlign": _roiAlign, "MaxRoiPool": _maxRoiPool, "NonMaxSuppression": _nms,
    "Attention": _attention, "RotaryEmbedding": _rotary, "DeformConv": _deformConv,
    "StringConcat": _stringConcat, "StringSplit": _stringSplit, "RegexFullMatch": _regex,
}
