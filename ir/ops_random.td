// These operations make random numbers: they are pure functions of a seed.
#ifndef GRAPHRUN_IR_OPS_RANDOM_TD
#define GRAPHRUN_IR_OPS_RANDOM_TD

include "ir/gr_dialect.td"

def GR_RandomOp : GR_PureOp<"random"> {
  let summary = "random numbers of a shape, from a seed";
  let description = [{
    `kind` is `uniform`: in [a, b), or `normal`: with mean a and standard deviation b. `shape` is
    1-D int64, `to` a floating-point type. With `generator` `philox` element i depends on `seed`, i and
    `step` (one i64, 0 where it is left out) alone, on every device:
    words 2 (i mod 2) and 2 (i mod 2) + 1 of Philox4x32-10 (Salmon et al., "Parallel Random Numbers:
    As Easy as 1, 2, 3", 2011) with key `seed` and the counter whose low half is i / 2 and whose high
    half is `step` make a 64-bit number, low word
    first, of which the leading bits, as many as the significand of `to` has, are u in [0, 1).
    `uniform` is a + (b - a) u. `normal` takes u of 53 bits for both elements of a counter and
    applies the transform of Box and Muller. With `mt19937`, for `uniform` f64 only, elements are the
    53-bit numbers that NumPy's RandomState makes one after the other from the 32-bit `seed`
    (Matsumoto and Nishimura, "Mersenne Twister", 1998).
  }];
  let noGradient = "does not depend on a differentiable operand";
  let shapedBy = "getShape()";
  let arguments = (ins GR_Tensor:$shape, Optional<GR_Tensor>:$step, GR_Distribution:$kind, F64Attr:$a, F64Attr:$b,
                       GR_IntAttr:$seed, TypeAttr:$to,
                       GR_DefaultWord<GR_RandomGenerator, "philox">:$generator);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_RANDOM_TD
