// These operations process signals.
#ifndef GRAPHRUN_IR_OPS_SIGNAL_TD
#define GRAPHRUN_IR_OPS_SIGNAL_TD

include "ir/gr_dialect.td"

def GR_DftOp : GR_PureOp<"dft"> {
  let summary = "discrete Fourier transform along an axis";
  let description = [{
    The last dim of `input` holds real and imaginary part, or the real part alone. Along `axis`, any
    other dim, the signal is cut or filled with zeros to `length` N (0: as long as it is) and becomes
    y[k] = sum of x[n] exp(-2 pi i k n / N); `inverse` has the other sign and divides by N. `onesided`
    gives the first N / 2 + 1 values only; with `inverse` these are the input, of complex numbers, and
    the result is real (a `length` of 0 then means 2 (n - 1)).
  }];
  let arguments = (ins GR_Tensor:$input, GR_IntAttr:$axis, DefaultValuedAttr<GR_IntAttr, "0">:$length,
                       DefaultValuedAttr<BoolAttr, "false">:$inverse,
                       DefaultValuedAttr<BoolAttr, "false">:$onesided);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_SIGNAL_TD
