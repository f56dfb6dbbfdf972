"""Prints a graph of one long chain of operations: deep_chains.py KIND LENGTH.

Nothing may recurse over a user's graph, nor look at all of it again at each operation.
"""
import sys

VECTOR, SQUARE, TURNED = "tensor<6xf32>", "tensor<2x3xf32>", "tensor<3x2xf32>"


def binary(op, constant="%c"):
    return lambda x, i: (f"gr.{op} {x}, {constant} : ({VECTOR}, tensor<f32>) -> {VECTOR}", VECTOR)


def reshape(x, i):
    before, after = (SQUARE, TURNED) if i % 2 else (TURNED, SQUARE)
    if i == 0:
        before = VECTOR
    shape = "%s23" if i % 2 == 0 else "%s32"
    return f"gr.reshape {x}, {shape} : ({before}, tensor<2xi64>) -> {after}", after


def movement(x, i):
    if i == 0:
        return reshape(x, 0)
    before, after = (SQUARE, TURNED) if i % 2 else (TURNED, SQUARE)
    return f"gr.transpose {x} {{permutation = array<i64: 1, 0>}} : ({before}) -> {after}", after


def ones(x, i):
    before, after = (VECTOR, "tensor<1x6xf32>") if i % 2 == 0 else ("tensor<1x6xf32>", VECTOR)
    op = "unsqueeze" if i % 2 == 0 else "squeeze"
    return f"gr.{op} {x} {{axes = array<i64: 0>}} : ({before}) -> {after}", after


def cast(x, i):
    before, to = ("f32", "f64") if i % 2 == 0 else ("f64", "f32")
    return f"gr.cast {x} {{to = {to}}} : (tensor<6x{before}>) -> tensor<6x{to}>", f"tensor<6x{to}>"


def quantize(x, i):
    u8 = "tensor<6xui8>"
    steps = [binary("div"), lambda x, i: (f"gr.round {x} : ({VECTOR}) -> {VECTOR}", VECTOR), binary("add", "%z"),
             lambda x, i: (f"gr.clip {x} {{low = 0.0 : f64, high = 255.0 : f64}} : ({VECTOR}) -> {VECTOR}", VECTOR),
             lambda x, i: (f"gr.cast {x} {{to = ui8}} : ({VECTOR}) -> {u8}", u8),
             lambda x, i: (f"gr.cast {x} {{to = f32}} : ({u8}) -> {VECTOR}", VECTOR),
             binary("sub", "%z"), binary("mul", "%c" if i // 8 % 2 else "%d")]
    return steps[i % 8](x, i)


KINDS = {
    "mul": binary("mul"), "add": binary("add"), "div": binary("div"),
    "neg": lambda x, i: (f"gr.neg {x} : ({VECTOR}) -> {VECTOR}", VECTOR),
    "relu": lambda x, i: (f"gr.{'relu' if i % 2 else 'exp'} {x} : ({VECTOR}) -> {VECTOR}", VECTOR),
    "where": lambda x, i: (f"gr.where %b, {x}, %x : (tensor<6xi1>, {VECTOR}, {VECTOR}) -> {VECTOR}", VECTOR),
    "concat": lambda x, i: (f"gr.concat {x}, %e {{axis = 0 : i64}} : ({VECTOR}, tensor<0xf32>) -> {VECTOR}", VECTOR),
    "mixed": lambda x, i: (binary("mul") if i % 2 else binary("add"))(x, i),
    "sigmoid": lambda x, i: (binary("mul") if i % 3 else
                             lambda x, i: (f"gr.sigmoid {x} : ({VECTOR}) -> {VECTOR}", VECTOR))(x, i),
    "square": lambda x, i: (f"gr.mul {x}, {x} : ({VECTOR}, {VECTOR}) -> {VECTOR}", VECTOR),
    "reshape": reshape, "transpose": movement, "ones": ones, "cast": cast, "quantize": quantize,
}


def main():
    make, length = KINDS[sys.argv[1]], int(sys.argv[2])
    lines = []
    value, kind = "%x", VECTOR
    for i in range(length):
        text, kind = make(value, i)
        value = f"%v{i}"
        lines.append(f"  {value} = {text}")
    print(f"func.func @f(%x: {VECTOR}, %b: tensor<6xi1>, %e: tensor<0xf32>) -> {kind} {{")
    print("  %c = gr.constant dense<1.5> : tensor<f32> : tensor<f32>")
    print("  %d = gr.constant dense<0.5> : tensor<f32> : tensor<f32>")
    print("  %z = gr.constant dense<8.0> : tensor<f32> : tensor<f32>")
    print("  %s23 = gr.constant dense<[2, 3]> : tensor<2xi64> : tensor<2xi64>")
    print("  %s32 = gr.constant dense<[3, 2]> : tensor<2xi64> : tensor<2xi64>")
    print("\n".join(lines))
    print(f"  return {value} : {kind}\n}}")


main()
