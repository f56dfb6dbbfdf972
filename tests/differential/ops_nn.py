"""Convolutions, pools, products, normalisations, recurrent cells and resizing."""


def _window(g, spatial, kernel, output=False):
    """Attributes of a sliding window: strides, dilations and pads of some kind."""
    made = {"kernel_shape": kernel if g.coin(0.7) else None}
    if g.coin(0.6):
        made["strides"] = [g.int(1, 4) for _ in range(spatial)]
    if g.coin(0.3):
        made["dilations"] = [g.int(1, 3) for _ in range(spatial)]
    roll = g.random.random()
    if roll < 0.4:
        made["pads"] = [g.int(0, k - 1 if not output else 1) for k in kernel * 2]
    elif roll < 0.65:
        made["auto_pad"] = g.pick("SAME_UPPER", "SAME_LOWER", "VALID")
        if made["auto_pad"].startswith("SAME") and g.opset < 22:
            made.pop("dilations", None)
    return made


def _extent(g, window, kernel):
    """Spatial dims that a dilated kernel fits in, mostly."""
    dilations = window.get("dilations") or [1] * len(kernel)
    return [max(1, (k - 1) * d + g.int(-1 if g.coin(0.1) else 1, 6))
            for k, d in zip(kernel, dilations)]


def _conv(g):
    spatial, group = g.pick(1, 2, 2, 2, 3), g.pick(1, 1, 1, 2, 3)
    kernel = [g.int(1, 4) for _ in range(spatial)]
    channels, filters = group * g.pick(1, 1, 2, 3, 5), group * g.pick(1, 2, 3, 5)
    if g.coin(0.15):
        group = channels
        filters = channels * g.int(1, 2)
    window = _window(g, spatial, kernel)
    return {"X": g.array([g.dim(high=3), channels] + _extent(g, window, kernel)),
            "W": g.array([filters, channels // group] + kernel), "group": group, **window,
            "B": g.array((filters,)) if g.coin() else None}


def _convInteger(g):
    made = _conv(g)
    zero = g.coin()
    return {**{key: value for key, value in made.items() if key not in ("X", "W", "B")},
            "x": made["X"], "w": made["W"], "x_zero_point": g.array(()) if zero else None,
            "w_zero_point": g.array(()) if zero and g.coin() else None}


def _convTranspose(g):
    spatial, group = g.pick(1, 2, 2, 3), g.pick(1, 1, 2, 3)
    kernel = [g.int(1, 4) for _ in range(spatial)]
    channels, filters = group * g.int(1, 3), g.pick(1, 2, 3, 5)
    window = _window(g, spatial, kernel, output=True)
    if window.get("strides") and g.coin(0.3):
        window["output_padding"] = [g.int(0, s - 1) for s in window["strides"]]
    return {"X": g.array([g.dim(high=3), channels] + [g.dim(1, 6) for _ in kernel]),
            "W": g.array([channels, filters] + kernel), "group": group, **window,
            "B": g.array((group * filters,)) if g.coin() else None}


def _pool(g):
    spatial = g.pick(1, 2, 2, 2, 3)
    kernel = [g.int(1, 4) for _ in range(spatial)]
    window = _window(g, spatial, kernel)
    window["kernel_shape"] = kernel
    made = {"X": g.array([g.dim(high=3), g.dim(0, 9)] + _extent(g, window, kernel)), **window,
            "ceil_mode": g.int(0, 1) if g.coin() else None, "outputs": 1}
    if g.schema.name == "AveragePool":
        made["count_include_pad"] = g.int(0, 1)
    if g.schema.name == "LpPool":
        made["p"] = g.int(1, 3)
    if g.schema.name == "MaxPool" and g.coin(0.3):
        made.update(outputs=2, storage_order=g.int(0, 1))
    return made


def _globalPool(g):
    return {"X": g.array([g.dim(), g.dim()] + [g.dim(1) for _ in range(g.int(1, 3))]),
            "p": g.int(1, 3)}


def _matmulShapes(g):
    m, k, n = g.dim(), g.dim(), g.dim()
    batch = g.shape(0, 2)
    a, b = list(g.broadcast(batch)) + [m, k], list(batch) + [k, n]
    if g.coin(0.2):
        a = [k]
    if g.coin(0.2):
        b = [k]
    if g.coin(0.2):
        b = b[-2:]
    return a, b


def _matmul(g):
    a, b = _matmulShapes(g)
    return {"A": g.array(a), "B": g.array(b)}


def _matmulInteger(g):
    a, b = _matmulShapes(g)
    zero = g.coin()
    return {"A": g.array(a), "B": g.array(b), "a_zero_point": g.array(()) if zero else None,
            "b_zero_point": g.array(()) if zero and g.coin() else None}


def _gemm(g):
    m, k, n, ta, tb = g.dim(), g.dim(1), g.dim(), g.int(0, 1), g.int(0, 1)
    c = g.pick(None, (m, n), (n,), (1, n), (m, 1), (), (1,))
    return {"A": g.array((k, m) if ta else (m, k)), "B": g.array((n, k) if tb else (k, n)),
            "C": None if c is None and g.opset >= 11 else g.array(c or ()), "transA": ta, "transB": tb,
            "alpha": g.float(-2, 2) if g.coin() else None, "beta": g.float(-2, 2) if g.coin() else None}


def _batchNorm(g):
    channels = g.dim(1)
    shape = [g.dim(), channels] + [g.dim(1) for _ in range(g.int(0, 3))]
    return {"X": g.array(shape), "scale": g.array((channels,)), "B": g.array((channels,)),
            "input_mean": g.array((channels,)), "input_var": g.array((channels,), 0.1, 2),
            "epsilon": g.pick(1e-5, 1e-3), "outputs": 1}


def _instanceNorm(g):
    channels = g.dim(1)
    return {"input": g.array([g.dim(1), channels] + [g.dim(2) for _ in range(g.int(1, 3))]),
            "scale": g.array((channels,)), "B": g.array((channels,)), "epsilon": g.pick(1e-5, 1e-3)}


def _groupNorm(g):
    groups = g.int(1, 3)
    channels = groups * g.int(1, 3)
    size = channels if g.opset >= 21 else groups
    return {"X": g.array([g.dim(1), channels] + [g.dim(2) for _ in range(g.int(1, 2))]),
            "scale": g.array((size,)), "bias": g.array((size,)), "num_groups": groups,
            "epsilon": g.pick(1e-5, 1e-3)}


def _layerNorm(g):
    shape = g.shape(1, least=1)
    axis = g.axis(len(shape))
    inner = shape[axis:]
    made = {"X": g.array(shape), "Scale": g.array(inner), "scale": g.array(inner), "axis": axis,
            "B": g.array(inner) if g.coin() else None, "epsilon": g.pick(1e-5, 1e-3)}
    if g.schema.name == "RMSNormalization":
        g.types["V"] = g.typeOf("T")  # with another, ONNX and its schema differ on the result's type
    del made["Scale" if g.schema.name == "RMSNormalization" else "scale"]
    return made


def _lpNorm(g):
    shape = g.shape(1, least=1)
    return {"input": g.array(shape), "axis": g.axis(len(shape)), "p": g.int(1, 2)}


def _mvn(g):
    shape = [g.dim(1) for _ in range(4)]
    axes = sorted(int(a) for a in g.random.permutation(4)[:g.int(1, 3)])
    return {"X": g.array(shape), "axes": axes if g.coin() else None}


def _lrn(g):
    return {"X": g.array([g.dim(high=3), g.dim(1), g.dim(1), g.dim(1)]), "size": g.pick(1, 3, 5),
            "alpha": g.float(1e-4, 1), "beta": g.float(0.3, 1), "bias": g.float(0.5, 2)}


def _recurrent(gates):
    def make(g):
        steps, batch, width, hidden = g.int(1, 4), g.int(1, 3), g.pick(1, 2, 3, 5), g.pick(1, 2, 3, 8)
        direction = g.pick("forward", "reverse", "bidirectional")
        ways = 2 if direction == "bidirectional" else 1
        layout = g.int(0, 1) if g.opset >= 14 and g.coin(0.2) else 0
        made = {"X": g.array((batch, steps, width) if layout else (steps, batch, width)),
                "W": g.array((ways, gates * hidden, width), -1, 1),
                "R": g.array((ways, gates * hidden, hidden), -1, 1),
                "B": g.array((ways, 2 * gates * hidden), -1, 1) if g.coin(0.6) else None,
                "sequence_lens": g.array((batch,), 1, steps) if g.coin(0.25) else None,
                "hidden_size": hidden, "direction": direction, "layout": layout or None,
                "clip": g.float(0.5, 3) if g.coin(0.15) else None}
        state = (batch, ways, hidden) if layout else (ways, batch, hidden)
        made["initial_h"] = g.array(state) if g.coin(0.4) else None
        if gates == 4:
            made.update(initial_c=g.array(state) if g.coin(0.4) else None, input_forget=
                        g.int(0, 1) if g.coin(0.2) else None,
                        P=g.array((ways, 3 * hidden), -1, 1) if g.coin(0.2) else None)
        if gates == 3:
            made["linear_before_reset"] = g.int(0, 1)
        if g.coin(0.2):
            count = {1: 1, 3: 2, 4: 3}[gates] * ways
            made["activations"] = [g.pick("Tanh", "Sigmoid", "Relu") for _ in range(count)]
        return made
    return make


def _resize(g):
    rank = g.pick(3, 4, 4, 5)
    shape = [g.dim(1, 3), g.dim(1, 5)] + [g.int(1, 7) for _ in range(rank - 2)]
    mode = g.pick("nearest", "linear", "cubic") if rank == 4 else g.pick("nearest", "linear")
    made = {"X": g.array(shape), "mode": mode, "outputs": 1}
    if g.coin():
        made["scales"] = g.array((rank,), values=[1, 1] + [g.pick(0.5, 1, 2, 3, 1.5, 0.7)
                                                           for _ in shape[2:]], type="float")
    else:
        made["sizes"] = g.ints(shape[:2] + [g.int(1, 12) for _ in shape[2:]])
        if g.opset < 11:
            del made["sizes"]
            made["scales"] = g.array((rank,), values=[1, 1] + [2.0] * (rank - 2), type="float")
    made["coordinate_transformation_mode"] = g.pick(
        "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")
    if g.opset < 19 and made["coordinate_transformation_mode"] == "half_pixel_symmetric":
        made["coordinate_transformation_mode"] = "half_pixel"
    made["nearest_mode"] = g.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic" and g.coin():
        made.update(cubic_coeff_a=g.pick(-0.5, -0.75), exclude_outside=g.int(0, 1))
    if mode != "nearest" and g.coin(0.2):
        made["antialias"] = 1
    if g.opset == 11:
        made["roi"] = g.array((0,), type="float", constant=True)
    return made


def _gridSample(g):
    n, spatial = g.dim(1, 3), 2 if g.opset < 20 or g.coin(0.7) else 3
    inside, outside = [g.dim(1) for _ in range(spatial)], [g.dim(1) for _ in range(spatial)]
    modes = ("bilinear", "nearest", "bicubic") if g.opset < 20 else ("linear", "nearest", "cubic")
    return {"X": g.array([n, g.dim(1)] + inside), "grid": g.array([n] + outside + [spatial], -1.3, 1.3),
            "mode": g.pick(*modes[:3 if spatial == 2 else 2]), "align_corners": g.int(0, 1),
            "padding_mode": g.pick("zeros", "border", "reflection")}


def _col2im(g):
    kernel = [g.int(1, 3), g.int(1, 3)]
    image = [k + g.int(0, 4) for k in kernel]
    blocks = (image[0] - kernel[0] + 1) * (image[1] - kernel[1] + 1)
    return {"input": g.array((g.dim(1, 3), g.int(1, 3) * kernel[0] * kernel[1], blocks)),
            "image_shape": g.ints(image), "block_shape": g.ints(kernel)}


GENERATORS = {
    "Conv": _conv, "ConvInteger": _convInteger, "ConvTranspose": _convTranspose, "MaxPool": _pool,
    "AveragePool": _pool, "LpPool": _pool, "GlobalAveragePool": _globalPool,
    "GlobalMaxPool": _globalPool, "GlobalLpPool": _globalPool, "MatMul": _matmul,
    "MatMulInteger": _matmulInteger, "Gemm": _gemm, "BatchNormalization": _batchNorm,
    "InstanceNormalization": _instanceNorm, "GroupNormalization": _groupNorm,
    "LayerNormalization": _layerNorm, "RMSNormalization": _layerNorm, "LpNormalization": _lpNorm,
    "MeanVarianceNormalization": _mvn, "LRN": _lrn, "RNN": _recurrent(1), "GRU": _recurrent(3),
    "LSTM": _recurrent(4), "Resize": _resize, "GridSample": _gridSample, "Col2Im": _col2im,
}
