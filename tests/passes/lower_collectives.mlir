// Placed collectives: in steps on their devices, once on one, and by the devices themselves.
// RUN: graphrun-opt %s --split-input-file --gr-lower-collectives | FileCheck %s --check-prefixes=CHECK,STEPS
// RUN: graphrun-opt %s --split-input-file --gr-lower-collectives --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=NAMES
// RUN: graphrun-opt %s --split-input-file --gr-lower-collectives="libraries=a=n,b=n,c=n" | FileCheck %s --check-prefixes=CHECK,MEMBERS

// Few bytes: each member reads all operands. Sums in the order of the operands.
// CHECK-LABEL: func.func @direct
// MEMBERS-SAME: gr.communicators = {{\[\[}}"a", "b", "c"]]
func.func @direct(%x: tensor<6xf32>, %y: tensor<6xf32>, %z: tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) {
  // STEPS: %[[A:.*]] = gr.group(%arg0, %arg1, %arg2) attributes {gr.device = #gr.device<"a">, gr.rank = 1 : i64, kind = "map"}
  // STEPS: gr.constant dense<3.0
  // STEPS: gr.add
  // STEPS: gr.add
  // STEPS: gr.div
  // STEPS: %[[B:.*]] = gr.group{{.*}}gr.device = #gr.device<"b">, gr.rank = 2 : i64
  // STEPS: %[[C:.*]] = gr.group{{.*}}gr.device = #gr.device<"c">, gr.rank = 3 : i64
  // STEPS: return %[[A]], %[[B]], %[[C]]
  // All members have one rank, the first of their steps'; the mean is of the sum.
  // MEMBERS: %[[A:.*]] = gr.collective_member %arg0 {collective = "all_reduce", communicator = 0 : i64, gr.device = #gr.device<"a">, gr.rank = 1 : i64, kind = "sum", tensor_type = tensor<6xf32>}
  // MEMBERS: gr.div %[[A]], %{{.*}} {gr.device = #gr.device<"a">, gr.rank = 1 : i64}
  // MEMBERS: gr.collective_member %arg1 {{.*}}"b">, gr.rank = 1 : i64
  // MEMBERS: gr.collective_member %arg2 {{.*}}"c">, gr.rank = 1 : i64
  %0:3 = gr.all_reduce %x, %y, %z {kind = "mean", gr.steps = [
      {name = "ar/0", device = #gr.device<"a">, rank = 1 : i64},
      {name = "ar/1", device = #gr.device<"b">, rank = 2 : i64},
      {name = "ar/2", device = #gr.device<"c">, rank = 3 : i64}]}
    : (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
  return %0#0, %0#1, %0#2 : tensor<6xf32>, tensor<6xf32>, tensor<6xf32>
}

// -----

// Many bytes and three members: parts are cut where operands are made, combined and joined.
// CHECK-LABEL: func.func @in_two_steps
func.func @in_two_steps(%x: tensor<200x100xf32>, %z: tensor<200x100xf32>)
    -> (tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>) {
  // STEPS: %[[X:.*]] = gr.exp
  // STEPS: %[[FLAT:.*]] = gr.reshape %[[X]], %{{.*}} {gr.device = #gr.device<"a">, gr.rank = 0 : i64}
  // STEPS: %[[P:.*]]:3 = gr.split %[[FLAT]] {axis = 0 : i64, gr.device = #gr.device<"a">, gr.rank = 0 : i64, sizes = array<i64: 6667, 6667, 6666>}
  // An input is cut by who reads it.
  // STEPS: %[[Z0:.*]] = gr.slice {{.*}}"a">, gr.rank = 2 : i64{{.*}} -> tensor<6667xf32>
  // STEPS: %[[R0:.*]] = gr.group(%[[P]]#0, %[[Z0]]) attributes {gr.device = #gr.device<"a">, gr.rank = 2 : i64
  // STEPS: %[[R1:.*]] = gr.group(%[[P]]#1, {{.*}}"b">, gr.rank = 3 : i64
  // STEPS: %[[R2:.*]] = gr.group(%[[P]]#2, {{.*}}"b">, gr.rank = 4 : i64{{.*}}
  // STEPS: %[[J0:.*]] = gr.concat %[[R0]], %[[R1]], %[[R2]] {axis = 0 : i64, gr.device = #gr.device<"a">, gr.rank = 5 : i64}
  // STEPS: %[[O0:.*]] = gr.reshape %[[J0]]
  // Members 1 and 2 are on one device: joined once, as early as the first of them.
  // STEPS: %[[J1:.*]] = gr.concat %[[R0]], %[[R1]], %[[R2]] {axis = 0 : i64, gr.device = #gr.device<"b">, gr.rank = 6 : i64}
  // STEPS: %[[O1:.*]] = gr.reshape %[[J1]]
  // STEPS-NOT: gr.concat
  // STEPS: return %[[O0]], %[[O1]], %[[O1]]
  // What the members of a device have is combined there first.
  // MEMBERS: %[[X:.*]] = gr.exp
  // MEMBERS: gr.collective_member %[[X]]
  // MEMBERS: %[[SUM:.*]] = gr.add %[[X]], %arg1 {gr.device = #gr.device<"b">, gr.rank = 2 : i64}
  // MEMBERS: gr.collective_member %[[SUM]] {collective = "all_reduce", communicator = 0 : i64, gr.device = #gr.device<"b">
  %0 = gr.exp %x {gr.device = #gr.device<"a">, gr.rank = 0 : i64} : (tensor<200x100xf32>) -> tensor<200x100xf32>
  %1:3 = gr.all_reduce %0, %0, %z {kind = "sum", gr.steps = [
      {name = "ar/0/reduce", device = #gr.device<"a">, rank = 2 : i64},
      {name = "ar/1/reduce", device = #gr.device<"b">, rank = 3 : i64},
      {name = "ar/2/reduce", device = #gr.device<"b">, rank = 4 : i64},
      {name = "ar/0/gather", device = #gr.device<"a">, rank = 5 : i64},
      {name = "ar/1/gather", device = #gr.device<"b">, rank = 7 : i64},
      {name = "ar/2/gather", device = #gr.device<"b">, rank = 6 : i64}]}
    : (tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>) -> (tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>)
  return %1#0, %1#1, %1#2 : tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>
}

// -----

// All on one device, here on some of its threads: once. What one step would be has that step's name.
// NAMES-LABEL: func.func @together
// NAMES: gr.mul {{.*}} loc("ar/0")
// NAMES: gr.min {{.*}} loc("rs")
// NAMES: gr.concat {{.*}} loc("ag/0")
// CHECK-LABEL: func.func @together
// CHECK-SAME: (%arg0: tensor<2x3xi32>, %arg1: tensor<2x3xi32>)
func.func @together(%x: tensor<2x3xi32>, %y: tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>, tensor<1x3xi32>, tensor<1x3xi32>, tensor<2x6xi32>, tensor<2x6xi32>) {
  // CHECK-NEXT: %[[SUM:.*]] = gr.mul %arg0, %arg1 {gr.device = #gr.device<"a">, gr.rank = 0 : i64, gr.threads = 2 : i64}
  // CHECK-NEXT: %[[MIN:.*]] = gr.min %arg0, %arg1 {gr.device = #gr.device<"a">, gr.rank = 2 : i64}
  // CHECK-NEXT: %[[PART:.*]]:2 = gr.split %[[MIN]] {axis = 0 : i64
  // CHECK-NEXT: %[[ALL:.*]] = gr.concat %arg0, %arg1 {axis = 1 : i64
  // CHECK-NEXT: return %[[SUM]], %[[SUM]], %[[PART]]#0, %[[PART]]#1, %[[ALL]], %[[ALL]]
  %0:2 = gr.all_reduce %x, %y {kind = "prod", gr.steps = [
      {name = "ar/0", device = #gr.device<"a">, rank = 0 : i64, threads = 2 : i64},
      {name = "ar/1", device = #gr.device<"a">, rank = 1 : i64, threads = 4 : i64}]}
    : (tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<2x3xi32>, tensor<2x3xi32>)
  %1:2 = gr.reduce_scatter %x, %y {kind = "min", axis = 0 : i64, gr.steps = [
      {name = "rs/0", device = #gr.device<"a">, rank = 2 : i64}, {name = "rs/1", device = #gr.device<"a">, rank = 3 : i64}]}
    : (tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<1x3xi32>, tensor<1x3xi32>) loc("rs")
  %2:2 = gr.all_gather %x, %y {axis = 1 : i64, gr.steps = [
      {name = "ag/0", device = #gr.device<"a">, rank = 4 : i64}, {name = "ag/1", device = #gr.device<"a">, rank = 5 : i64}]}
    : (tensor<2x3xi32>, tensor<2x3xi32>) -> (tensor<2x6xi32>, tensor<2x6xi32>)
  return %0#0, %0#1, %1#0, %1#1, %2#0, %2#1 : tensor<2x3xi32>, tensor<2x3xi32>, tensor<1x3xi32>, tensor<1x3xi32>, tensor<2x6xi32>, tensor<2x6xi32>
}

// -----

// Dims of 1 before the axis do not matter; two members next to each other on each device.
// CHECK-LABEL: func.func @along_axis_one
// MEMBERS-SAME: gr.communicators = {{\[\[}}"b", "a"]]
func.func @along_axis_one(%x: tensor<1x8xf16>, %y: tensor<1x8xf16>) -> (tensor<1x32xf16>, tensor<1x2xf16>, tensor<1x2xf16>) {
  // STEPS: gr.concat %arg0, %arg1, %arg0, %arg1 {axis = 1 : i64, gr.device = #gr.device<"b">
  // STEPS: gr.slice %{{.*}} -> tensor<1x2xf16>
  // MEMBERS: %[[OWN:.*]] = gr.concat %arg0, %arg1 {axis = 1 : i64, gr.device = #gr.device<"b">
  // MEMBERS: %[[LINE:.*]] = gr.reshape %[[OWN]], {{.*}} -> tensor<16xf16>
  // MEMBERS: %[[ALL:.*]] = gr.collective_member %[[LINE]] {collective = "all_gather", communicator = 0 : i64, gr.device = #gr.device<"b">, gr.rank = 0 : i64, kind = "", tensor_type = tensor<32xf16>}
  // MEMBERS: gr.reshape %[[ALL]], {{.*}} -> tensor<1x32xf16>
  // MEMBERS: %[[MAX:.*]] = gr.max %arg0, %arg1
  // MEMBERS: %[[LINE:.*]] = gr.reshape %[[MAX]], {{.*}} -> tensor<8xf16>
  // MEMBERS: %[[ALL:.*]] = gr.collective_member %[[LINE]] {collective = "reduce_scatter", {{.*}} kind = "max", tensor_type = tensor<4xf16>}
  // MEMBERS: %[[PAIR:.*]] = gr.reshape %[[ALL]], {{.*}} -> tensor<1x4xf16>
  // MEMBERS: gr.split %[[PAIR]] {axis = 1 : i64
  %0:4 = gr.all_gather %x, %y, %x, %y {axis = 1 : i64, gr.steps = [
      {name = "g/0", device = #gr.device<"b">, rank = 0 : i64}, {name = "g/1", device = #gr.device<"b">, rank = 1 : i64},
      {name = "g/2", device = #gr.device<"a">, rank = 2 : i64}, {name = "g/3", device = #gr.device<"a">, rank = 3 : i64}]}
    : (tensor<1x8xf16>, tensor<1x8xf16>, tensor<1x8xf16>, tensor<1x8xf16>) -> (tensor<1x32xf16>, tensor<1x32xf16>, tensor<1x32xf16>, tensor<1x32xf16>)
  %1:4 = gr.reduce_scatter %x, %y, %x, %y {kind = "max", axis = 1 : i64, gr.steps = [
      {name = "s/0", device = #gr.device<"b">, rank = 4 : i64}, {name = "s/1", device = #gr.device<"b">, rank = 5 : i64},
      {name = "s/2", device = #gr.device<"a">, rank = 6 : i64}, {name = "s/3", device = #gr.device<"a">, rank = 7 : i64}]}
    : (tensor<1x8xf16>, tensor<1x8xf16>, tensor<1x8xf16>, tensor<1x8xf16>) -> (tensor<1x2xf16>, tensor<1x2xf16>, tensor<1x2xf16>, tensor<1x2xf16>)
  return %0#0, %1#0, %1#1 : tensor<1x32xf16>, tensor<1x2xf16>, tensor<1x2xf16>
}

// -----

// What no communicator can do is done in steps, whatever libraries there are: another axis, members
// in another order than parts, bools, a device without a library.
// CHECK-LABEL: func.func @in_steps
// CHECK-NOT: gr.collective_member
// CHECK: return
func.func @in_steps(%x: tensor<2x8xf32>, %p: tensor<4xi1>) -> (tensor<2x16xf32>, tensor<6x8xf32>, tensor<8xi1>, tensor<2x8xf32>) {
  %0:2 = gr.all_gather %x, %x {axis = 1 : i64, gr.steps = [
      {name = "g/0", device = #gr.device<"a">}, {name = "g/1", device = #gr.device<"b">}]}
    : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>)
  %1:3 = gr.all_gather %x, %x, %x {axis = 0 : i64, gr.steps = [
      {name = "h/0", device = #gr.device<"a">}, {name = "h/1", device = #gr.device<"b">}, {name = "h/2", device = #gr.device<"a">}]}
    : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>)
  %2:2 = gr.all_gather %p, %p {axis = 0 : i64, gr.steps = [
      {name = "p/0", device = #gr.device<"a">}, {name = "p/1", device = #gr.device<"b">}]}
    : (tensor<4xi1>, tensor<4xi1>) -> (tensor<8xi1>, tensor<8xi1>)
  %3:2 = gr.all_reduce %x, %x {kind = "sum", gr.steps = [
      {name = "r/0", device = #gr.device<"a">}, {name = "r/1", device = #gr.device<"cpu">}]}
    : (tensor<2x8xf32>, tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>)
  return %0#0, %1#0, %2#0, %3#1 : tensor<2x16xf32>, tensor<6x8xf32>, tensor<8xi1>, tensor<2x8xf32>
}

// -----

// A result away from where its part is combined; a kernel for 16 operands at most.
// CHECK-LABEL: func.func @torn
// CHECK-NOT: gr.collective_member
// CHECK: return
func.func @torn(%x: tensor<200x100xf32>) -> tensor<200x100xf32> {
  %0:3 = gr.all_reduce %x, %x, %x {kind = "sum", gr.steps = [
      {name = "r/0/reduce", device = #gr.device<"a">}, {name = "r/1/reduce", device = #gr.device<"b">}, {name = "r/2/reduce", device = #gr.device<"c">},
      {name = "r/0/gather", device = #gr.device<"b">}, {name = "r/1/gather", device = #gr.device<"a">}, {name = "r/2/gather", device = #gr.device<"c">}]}
    : (tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>) -> (tensor<200x100xf32>, tensor<200x100xf32>, tensor<200x100xf32>)
  return %0#0 : tensor<200x100xf32>
}

// -----

// Two kernels where one would have too many operands.
// CHECK-LABEL: func.func @many
func.func @many(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[HALF:.*]] = gr.group(%arg0)
  // CHECK: gr.add %[[HALF]], %arg0
  // CHECK-NEXT: return
  %0:17 = gr.all_reduce %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x {kind = "sum", gr.steps = [
      {name = "r/0", device = #gr.device<"a">}, {name = "r/1", device = #gr.device<"a">}, {name = "r/2", device = #gr.device<"a">},
      {name = "r/3", device = #gr.device<"a">}, {name = "r/4", device = #gr.device<"a">}, {name = "r/5", device = #gr.device<"a">},
      {name = "r/6", device = #gr.device<"a">}, {name = "r/7", device = #gr.device<"a">}, {name = "r/8", device = #gr.device<"a">},
      {name = "r/9", device = #gr.device<"a">}, {name = "r/10", device = #gr.device<"a">}, {name = "r/11", device = #gr.device<"a">},
      {name = "r/12", device = #gr.device<"a">}, {name = "r/13", device = #gr.device<"a">}, {name = "r/14", device = #gr.device<"a">},
      {name = "r/15", device = #gr.device<"a">}, {name = "r/16", device = #gr.device<"a">}]}
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %0#0 : tensor<4xf32>
}
