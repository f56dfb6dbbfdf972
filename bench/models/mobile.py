"""MobileNetV2, MobileNetV3 (large) and EfficientNet-B0; batch normalisation is folded, as exported."""

from models.graph import LINEAR, RELU, Graph, conv, dense

IMAGE = ["batch", 3, 224, 224]


def relu(graph, x):
    return graph.op("Relu", x)


def relu6(graph, x):
    return graph.op("Clip", x, graph.number(0), graph.number(6))


def hardSwish(graph, x):
    """x * min(max(x + 3, 0), 6) / 6, spelled out."""
    clipped = relu6(graph, graph.op("Add", x, graph.number(3)))
    return graph.op("Mul", x, graph.op("Div", clipped, graph.number(6)))


def hardSigmoid(graph, x):
    return graph.op("HardSigmoid", x, alpha=1 / 6)


def sigmoid(graph, x):
    return graph.op("Sigmoid", x)


def silu(graph, x):
    return graph.op("Mul", x, sigmoid(graph, x))


def squeeze(graph, x, width, inner, between, gate):
    """Squeeze and excitation: every channel is scaled by what the means of all say."""
    means = graph.op("GlobalAveragePool", x)
    means = between(graph, conv(graph, means, width, inner))
    return graph.op("Mul", gate(graph, conv(graph, means, inner, width, gain=RELU)), x)


def bottleneck(graph, x, width, inner, out, kernel, stride, activate, excite=None):
    """Widen, filter each channel, excite, and narrow without activation."""
    y = x
    if inner != width:
        y = activate(graph, conv(graph, y, width, inner))
    y = activate(graph, conv(graph, y, inner, inner, kernel, stride, groups=inner, gain=RELU))
    y = excite(y, inner) if excite else y
    y = conv(graph, y, inner, out, gain=1.5 * RELU if excite else RELU)  # gates are above 1/2
    return graph.op("Add", x, y) if stride == 1 and width == out else y


def classify(graph, x, width, classes=1000):
    pooled = graph.op("Flatten", graph.op("GlobalAveragePool", x), axis=1)
    graph.output(dense(graph, pooled, width, classes, gain=RELU), ["batch", classes])
    return graph.model()


def mobilenetV2():
    graph = Graph("mobilenet_v2")
    x = relu6(graph, conv(graph, graph.input("input", IMAGE), 3, 32, 3, 2))
    width = 32
    for factor, out, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                       (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            x = bottleneck(graph, x, width, factor * width, out, 3, 1 if i else stride, relu6)
            width = out
    return classify(graph, relu6(graph, conv(graph, x, width, 1280)), 1280)


# kernel, inner, out, excited, hard-swish, stride
V3_LARGE = ((3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2),
            (5, 120, 40, 1, 0, 1), (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2),
            (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
            (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2),
            (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1))


def mobilenetV3():
    graph = Graph("mobilenet_v3")

    def excite(x, width):
        inner = (width // 4 + 4) // 8 * 8
        return squeeze(graph, x, width, inner, relu, hardSigmoid)

    x = hardSwish(graph, conv(graph, graph.input("input", IMAGE), 3, 16, 3, 2))
    width = 16
    for kernel, inner, out, excited, swish, stride in V3_LARGE:
        x = bottleneck(graph, x, width, inner, out, kernel, stride, hardSwish if swish else relu,
                       excite if excited else None)
        width = out
    x = hardSwish(graph, conv(graph, x, width, 960))
    pooled = graph.op("Flatten", graph.op("GlobalAveragePool", x), axis=1)
    hidden = hardSwish(graph, dense(graph, pooled, 960, 1280, gain=RELU))
    graph.output(dense(graph, hidden, 1280, 1000, gain=RELU), ["batch", 1000])
    return graph.model()


def efficientnetB0():
    graph = Graph("efficientnet_b0")
    x = silu(graph, conv(graph, graph.input("input", IMAGE), 3, 32, 3, 2))
    width = 32
    for factor, kernel, out, count, stride in (
            (1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2),
            (6, 5, 112, 3, 1), (6, 5, 192, 4, 2), (6, 3, 320, 1, 1)):
        for i in range(count):
            def excite(y, inner, narrow=max(1, width // 4)):
                return squeeze(graph, y, inner, narrow, silu, sigmoid)

            x = bottleneck(graph, x, width, factor * width, out, kernel, 1 if i else stride, silu,
                           excite)
            width = out
    return classify(graph, silu(graph, conv(graph, x, width, 1280, gain=LINEAR)), 1280)
