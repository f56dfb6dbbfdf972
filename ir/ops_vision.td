// These operations sample images at computed positions.
#ifndef GRAPHRUN_IR_OPS_VISION_TD
#define GRAPHRUN_IR_OPS_VISION_TD

include "ir/gr_dialect.td"

def GR_GridSampleOp : GR_PureOp<"grid_sample"> {
  let summary = "the input at the positions that a grid names";
  let description = [{
    `input` is N x C x D1 … Dr, `grid` N x G1 … Gr x r, the result N x C x G1 … Gr. A position has its
    coordinate along the last dim first; -1 and 1 are the centres of the first and last element when
    `align_corners`, else their outer edges. `mode` is `nearest` (ties to even), `linear` or `cubic`
    (coefficient -0.75). `padding` says what lies outside: `zeros`, `border` (the nearest element)
    or `reflection` at the outermost centres or edges.
  }];
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$grid, GR_Interpolation:$mode,
                       GR_BorderPadding:$padding,
                       DefaultValuedAttr<BoolAttr, "false">:$align_corners);
  let results = (outs GR_Tensor:$output);
}

def GR_RoiAlignOp : GR_PureOp<"roi_align"> {
  let summary = "regions of images, pooled from interpolated samples";
  let description = [{
    `input` is N x C x H x W, `rois` R x 4 (x1, y1, x2, y2 times `scale` in the input's elements),
    `batch` R integers in [0, N); the result is R x C x `height` x `width`. Each of its elements is
    the mean (`kind` = `mean`) of `sampling` x `sampling` samples, regularly spread in its part of
    the region, or as many as that part has elements when `sampling` is 0 (He et al., "Mask R-CNN",
    2017); `max` takes the largest of all weighted neighbours of the samples, as ONNX does.
    `half_pixel` shifts coordinates by -0.5; without it a region is at least one element large.
  }];
  let noGradient = "has no rule yet";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$rois, GR_Tensor:$batch,
                       GR_WordAttr<GR_ReduceKind, ["mean", "max"]>:$kind,
                       GR_IntAttr:$height, GR_IntAttr:$width,
                       DefaultValuedAttr<GR_IntAttr, "0">:$sampling,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       DefaultValuedAttr<BoolAttr, "true">:$half_pixel);
  let results = (outs GR_Tensor:$output);
}

def GR_RoiMaxPoolOp : GR_PureOp<"roi_max_pool"> {
  let summary = "regions of images, the largest element of each part";
  let description = [{
    `input` is N x C x H x W, `rois` R x 5: the number of the image, then x1, y1, x2, y2, which
    times `scale` and rounded are the first and last element. The result is R x C x `height` x
    `width`: each region is cut into so many parts; an empty part gives 0 (Girshick, "Fast R-CNN",
    2015).
  }];
  let noGradient = "has no rule yet";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$rois, GR_IntAttr:$height, GR_IntAttr:$width,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs GR_Tensor:$output);
}

def GR_Col2ImOp : GR_PureOp<"col2im"> {
  let summary = "blocks of images, added up at their positions";
  let description = [{
    `input` is N x C * B1 … Br x L: one column for each of the L positions of a block of shape `block`
    (i64, r) in an image of shape `image` (i64, r), row-major; the result is N x C x image. Positions
    follow from `strides`, `dilations` and `pads` (begins, then ends) as in gr.conv.
  }];
  let shapedBy = "getImage(), getBlock()";
  let arguments = (ins GR_Tensor:$input, GR_Tensor:$image, GR_Tensor:$block,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$pads);
  let results = (outs GR_Tensor:$output);
}

#endif  // GRAPHRUN_IR_OPS_VISION_TD
