#include "devices/cpu/compiler/work_candidates.h"

#include <algorithm>

#include "devices/cpu/base/onednn_layouts.h"
#include "devices/cpu/compiler/concat_parts.h"
#include "devices/cpu/compiler/native_code.h"
#include "devices/cpu/compiler/winograd_tiles.h"
#include "devices/cpu/kernels/winograd_kernel.h"
#include "devices/cpu/onednn/after_ops.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/weights.h"

namespace graphrun::devices::cpu {

using Order = KernelLayout::Order;

/// A Request is what a kernel is asked for.
struct WorkCandidates::Request {
  KernelLayout input;
  std::optional<KernelLayout> result;  ///< nothing: as the kernel likes
  std::string algorithm;               ///< of a convolution; empty: the usual one
  std::string implementation;          ///< how the library's name for it begins; empty: its choice
  bool plainWeights = false;           ///< constants stay as they are, which needs the least memory
  bool openFilter = false;             ///< one that is made in each step is laid out there, too
  std::optional<KernelLayout> second;  ///< of the second operand, where it differs from the first's
};

namespace {

constexpr KernelLayout kDense;
constexpr KernelLayout kChannelsLast{Order::kChannelsLast};
/// An image of so few channels is read dense by the first convolution.
constexpr int64_t kFewChannels = 4;

bool isConvolution(const Instruction& instruction) {
  return instruction.operation == "gr.conv" || instruction.operation == "gr.conv_transpose";
}

/// Operations on N x C x spatial dims that work in any layout of the channels.
bool hasChannels(const Instruction& instruction) {
  constexpr absl::string_view kOperations[] = {"gr.max_pool",
                                               "gr.avg_pool",
                                               "gr.lrn",
                                               "gr.resize",
                                               "gr.concat",
                                               "gr.pad",
                                               "gr.reduce",
                                               "gr.softmax",
                                               "gr.batch_norm",
                                               "gr.instance_norm",
                                               "gr.batch_norm_training",
                                               "gr.batch_norm_backward",
                                               "gr.max_pool_backward",
                                               "gr.avg_pool_backward",
                                               "gr.conv_backward_filter"};
  size_t rank = instruction.inputs.empty() ? 0 : instruction.inputs[0].desc.dims.size();
  return rank >= 3 && rank <= 5 &&
         (isConvolution(instruction) || std::find(std::begin(kOperations), std::end(kOperations),
                                                  instruction.operation) != std::end(kOperations));
}

/// Returns whether layouts and implementations make no difference to the bits of the result:
/// elements are moved or compared, and not summed.
bool sumsNothing(const Instruction& instruction) {
  constexpr absl::string_view kOperations[] = {"gr.max_pool", "gr.concat", "gr.pad", "gr.split"};
  return std::find(std::begin(kOperations), std::end(kOperations), instruction.operation) !=
         std::end(kOperations);
}

/// Returns whether the order of sums follows from the number of threads: the library's threads add
/// their shares of the batch up.
bool sumsByThreads(const Instruction& instruction) {
  return instruction.operation == "gr.conv_backward_filter";
}

/// Returns whether the order of sums follows from the number of threads in what the library chose:
/// it cuts a convolution into small products by it. Sums of integers are exact in any order.
bool cutsByThreads(const WorkCandidate& candidate) {
  return candidate.choice.implementation.starts_with("brgconv") &&
         runtime::isFloat(candidate.instruction.inputs[0].desc.type);
}

/// Returns whether a post-op gives the same of a number and of what that rounds to, but for the
/// rounding.
bool keepsRounding(const PostOp& op) {
  constexpr absl::string_view kFunctions[] = {"gr.relu", "gr.clip", "gr.abs"};
  return op.kind == PostOpKind::kEltwise
             ? std::find(std::begin(kFunctions), std::end(kFunctions), op.algorithm) !=
                   std::end(kFunctions)
             : op.kind == PostOpKind::kBinaryMax || op.kind == PostOpKind::kBinaryMin;
}

/// Returns whether the instruction rounds to bf16 fewer times than its operations do one by one:
/// the library's own post-ops compute in f32.
bool skipsRoundings(const Instruction& instruction) {
  auto own = instruction.postOps.begin() + static_cast<ptrdiff_t>(AfterOps::firstOf(instruction));
  return instruction.outputs[0].desc.type == runtime::ElementType::kBF16 &&
         !std::all_of(instruction.postOps.begin(), own, keepsRounding);
}

/// Returns whether the instruction is of images, which convolutions leave with the channels last;
/// the others are of matrices.
bool isOfImages(const Instruction& instruction) {
  if (!hasChannels(instruction)) {
    return false;
  }
  const std::vector<int64_t>& in = instruction.inputs[0].desc.dims;
  bool sumsPlanes = instruction.operation != "gr.reduce" ||
                    (in.size() > 3 && instruction.outputs[0].desc.spec().elementCount() ==
                                          TensorDesc{{}, {in[0], in[1]}}.spec().elementCount());
  return instruction.operation != "gr.softmax" && sumsPlanes;
}

/// Leaves the one of `candidates` that only the instruction decides on, whatever is around it: the
/// fastest by estimate. Images lie with the channels last where that is not far slower, so that
/// instructions that follow each other agree.
void keepCanonical(std::vector<WorkCandidate>& candidates) {
  constexpr double kFarSlower = 2;
  auto isFaster = [](const WorkCandidate& a, const WorkCandidate& b) { return a.nanos < b.nanos; };
  auto isLast = [](const WorkCandidate& candidate) {
    const TensorDesc& out = candidate.results[0];
    if (!isOfImages(candidate.instruction) || out.dims.size() < 3) {
      return false;
    }
    absl::StatusOr<TensorDesc> last = descIn(out.type, out.dims, kChannelsLast);
    return last.ok() && sameLayout(out, *last);
  };
  auto others = std::stable_partition(candidates.begin(), candidates.end(), isLast);
  auto best = std::min_element(candidates.begin(), candidates.end(), isFaster);
  auto last = std::min_element(candidates.begin(), others, isFaster);
  bool agrees = last != others && last->nanos <= kFarSlower * best->nanos;
  candidates = {std::move(agrees ? *last : *best)};
}

/// Lays the operands that have the first one's rank out; false when that cannot be.
bool layOut(std::vector<Argument>& arguments, size_t rank, KernelLayout layout) {
  for (Argument& argument : arguments) {
    if (argument.desc.any || argument.desc.dims.size() != rank) {
      continue;
    }
    absl::StatusOr<TensorDesc> desc = descIn(argument.desc.type, argument.desc.dims, layout);
    if (!desc.ok()) {
      return false;
    }
    argument.desc = *std::move(desc);
  }
  return true;
}

/// Leaves the partition, as it is or under another shape: what has parts lies in the arena, and
/// would be copied from there.
bool isReturned(mlir::Value value) {
  return llvm::any_of(value.getUsers(), [](mlir::Operation* user) {
    return llvm::isa<mlir::func::ReturnOp>(user) ||
           (ir::isView(user) && isReturned(user->getResult(0)));
  });
}

/// Equal for instructions of which a kernel wants the same, to the bytes of their layouts.
std::string wholeKey(const Instruction& instruction) {
  std::string key = absl::StrCat(instruction.threads, " ", describeInstruction(instruction));
  for (const auto* arguments : {&instruction.inputs, &instruction.outputs}) {
    for (const Argument& argument : *arguments) {
      key.append(argument.desc.layout.begin(), argument.desc.layout.end());
    }
  }
  return key;
}

}  // namespace

bool isReference(const WorkCandidate& candidate) {
  return candidate.kernel != nullptr && (candidate.kernel->name == "reference" ||
                                         candidate.choice.implementation.starts_with("ref"));
}

WorkCandidates::WorkCandidates(InstructionCosts& costs, bool sparesMemory,
                               const RefusedKernels& refused)
    : costs_(costs),
      sparesMemory_(sparesMemory),
      refused_(refused),
      block_(std::max<int64_t>(8, nativeVectorBits() / 32)) {}

std::vector<WorkCandidates::Request> WorkCandidates::requestsFor(const LibraryInstruction& library,
                                                                 int64_t block, bool approximate) {
  const Instruction& instruction = library.instruction;
  if (!hasChannels(instruction)) {
    return {{kDense, std::nullopt, ""}};
  }
  KernelLayout blocks{Order::kChannelBlocks, block};
  if (!isConvolution(instruction)) {
    std::vector<Request> requests = {
        {kDense, std::nullopt, ""}, {kChannelsLast, std::nullopt, ""}, {blocks, std::nullopt, ""}};
    if (instruction.operation == "gr.conv_backward_filter" &&
        instruction.inputs[0].desc.dims[1] <= kFewChannels) {
      for (KernelLayout gradient : {blocks, kChannelsLast}) {
        requests.push_back({kDense, std::nullopt, "", "", false, false, gradient});
      }
    }
    return requests;
  }
  std::vector<Request> requests = {{kChannelsLast, kChannelsLast, ""}, {kDense, kDense, ""}};
  if (instruction.inputs[0].desc.dims[1] <= kFewChannels) {
    requests.push_back({kDense, blocks, ""});
    requests.push_back({kDense, kChannelsLast, ""});
  } else {
    requests.push_back({blocks, blocks, ""});
  }
  if (instruction.inputs[0].desc.type == runtime::ElementType::kU8) {
    // Which of the library's implementations is faster depends on image, filter and what lies in
    // the caches.
    requests.push_back({kChannelsLast, kChannelsLast, "", "jit"});
  }
  // Its sums leave no registers free on machines of shorter vectors, where it is the slower one.
  if (approximate && block == kWinogradBlock) {
    for (int64_t tile : winogradTiles(library)) {
      requests.push_back({blocks, blocks, absl::StrCat("winograd_", tile, "x", tile)});
    }
  }
  if (!isConstant(library.operands[1])) {
    std::vector<Request> open = requests;
    for (Request& request : open) {
      request.openFilter = true;
    }
    requests.insert(requests.begin(), open.begin(), open.end());
  }
  return requests;
}

std::optional<Instruction> WorkCandidates::apply(const Request& request,
                                                 const LibraryInstruction& library) {
  Instruction instruction = library.instruction;
  // Weights lie as the kernel likes, from load on. An image lies as is requested, one of constants
  // too: what the kernel would like depends on the threads.
  bool isImage = hasChannels(instruction);
  for (auto [input, value] : llvm::zip(instruction.inputs, library.operands)) {
    input.desc.any = isConstant(value) && !request.plainWeights && !isImage;
    isImage = false;
  }
  if (request.openFilter) {
    instruction.inputs[1].desc.any = true;
  }
  size_t rank = instruction.inputs.empty() ? 0 : instruction.inputs[0].desc.dims.size();
  if (!layOut(instruction.inputs, rank, request.input)) {
    return std::nullopt;
  }
  if (request.second) {
    std::vector<Argument> second = {instruction.inputs[1]};
    if (!layOut(second, rank, *request.second)) {
      return std::nullopt;
    }
    instruction.inputs[1] = second[0];
  }
  if (request.result) {
    if (!layOut(instruction.outputs, rank, *request.result)) {
      return std::nullopt;
    }
  } else {
    for (Argument& output : instruction.outputs) {
      output.desc.any = true;
    }
  }
  for (PostOp& post : instruction.postOps) {
    if (post.operand) {
      post.operand->desc.any = post.operand->desc.dims == instruction.outputs[0].desc.dims;
    }
  }
  if (!request.algorithm.empty()) {
    instruction.attributes["algorithm"] = request.algorithm;
  }
  if (!request.implementation.empty()) {
    instruction.attributes["implementation"] = request.implementation;
  }
  return instruction;
}

absl::StatusOr<Candidate> WorkCandidates::ask(const Instruction& instruction) {
  std::string key = wholeKey(instruction);
  auto found = asked_.find(key);
  if (found == asked_.end()) {
    std::optional<ScopedThreads> threads;
    if (instruction.threads != 0) {
      threads.emplace(static_cast<int>(instruction.threads));
    }
    found = asked_.emplace(std::move(key), bestCandidate(instruction, &refused_)).first;
  }
  return found->second;
}

absl::StatusOr<WorkCandidate> WorkCandidates::candidateFor(Instruction instruction,
                                                           const LibraryInstruction& library) {
  GR_ASSIGN_OR_RETURN(Candidate listed, ask(instruction));
  WorkCandidate result;
  result.kernel = listed.kernel;
  result.choice = *std::move(listed.choice);
  const LayoutChoice& choice = result.choice;
  if (result.kernel->name == "onednn.conv_backward_data" && isConstant(library.operands[1]) &&
      !isDense(instruction.inputs[0].desc)) {
    return absl::UnimplementedError("a filter that is packed at load has faster kernels");
  }
  for (auto [i, operand] : llvm::enumerate(library.operands)) {
    // What is read with other dims is made from the dense tensor.
    TensorDesc dense = denseDesc(operand);
    // A tensor that is made in each step is laid out by a reorder, which packs nothing.
    if (instruction.inputs[i].desc.any && !isConstant(operand) &&
        (isOpaque(choice.inputs[i]) || choice.inputs[i].dims != dense.dims ||
         choice.sources[i].dims != dense.dims || !isDense(choice.sources[i]))) {
      return absl::UnimplementedError("the filter is packed before the first step");
    }
    result.operands.push_back(choice.inputs[i].dims == dense.dims ? choice.inputs[i] : dense);
  }
  for (auto [i, operand] : llvm::enumerate(library.postOperands)) {
    if (operand) {
      bool inPlace = instruction.postOps[i].kind == PostOpKind::kSum;
      result.operands.push_back(inPlace ? choice.outputs[0] : choice.postOps[i]);
    }
  }
  result.results = choice.outputs;
  result.instruction = std::move(instruction);
  return result;
}

void WorkCandidates::addParts(KernelLayout layout, mlir::Value result, WorkCandidate& candidate) {
  auto axis = attributeOr<int64_t>(candidate.instruction, "axis", -1);
  if (candidate.instruction.operation == "gr.concat" && axis.ok() && *axis >= 0 &&
      !isReturned(result)) {
    candidate.parts =
        concatParts(candidate.operands, candidate.results[0], layout, static_cast<size_t>(*axis));
  }
}

std::vector<WorkCandidate> WorkCandidates::splitsInPlace(const LibraryInstruction& library) const {
  const Instruction& instruction = library.instruction;
  auto axis = attributeOr<int64_t>(instruction, "axis", -1);
  mlir::Operation* producer = passes::outsideGroup(library.operands[0]).getDefiningOp();
  if (instruction.operation != "gr.split" || !axis.ok() || *axis < 0 || producer == nullptr ||
      llvm::isa<ir::ConstantOp, ir::RecvOp>(producer)) {
    return {};
  }
  std::vector<WorkCandidate> found;
  for (KernelLayout layout : {kDense, kChannelsLast, KernelLayout{Order::kChannelBlocks, block_}}) {
    Instruction laidOut = instruction;
    size_t rank = instruction.inputs[0].desc.dims.size();
    if ((layout.isDense() || (rank >= 3 && rank <= 5)) && layOut(laidOut.inputs, rank, layout) &&
        layOut(laidOut.outputs, rank, layout)) {
      WorkCandidate candidate;
      candidate.operands = {laidOut.inputs[0].desc};
      for (const Argument& output : laidOut.outputs) {
        candidate.results.push_back(output.desc);
      }
      candidate.parts =
          concatParts(candidate.results, candidate.operands[0], layout, static_cast<size_t>(*axis));
      if (!candidate.parts.empty()) {
        found.push_back(std::move(candidate));
      }
    }
  }
  return found;
}

void WorkCandidates::addNarrow(const LibraryInstruction& library,
                               std::vector<WorkCandidate>& candidates) {
  const WorkCandidate& wide = candidates.back();
  if (wide.instruction.threads == 1 || !wide.parts.empty() || costs_.isDeterministic() ||
      !costs_.isShort(wide.instruction, {wide.kernel, wide.choice})) {
    return;
  }
  Instruction instruction = wide.instruction;
  instruction.threads = 1;
  absl::StatusOr<WorkCandidate> narrow = candidateFor(std::move(instruction), library);
  if (narrow.ok()) {
    candidates.push_back(*std::move(narrow));
  }
}

absl::StatusOr<std::vector<WorkCandidate>> WorkCandidates::ofLibrary(LibraryInstruction library,
                                                                     mlir::Operation* op) {
  if (costs_.isDeterministic() && sumsByThreads(library.instruction)) {
    library.instruction.threads = 1;
  }
  std::vector<WorkCandidate> found = splitsInPlace(library);
  absl::Status refused = absl::UnimplementedError("no layout suits the operation");
  const bool canonical = costs_.isDeterministic() && !sumsNothing(library.instruction);
  if (costs_.isDeterministic() && skipsRoundings(library.instruction)) {
    return absl::UnimplementedError("the library would not round behind each operation");
  }
  std::optional<LibraryInstruction> inPlace = canonical ? std::nullopt : summedInPlace(library, op);
  for (const Request& request : requestsFor(library, block_, costs_.allowsApproximation())) {
    bool added = false;
    const LibraryInstruction* forms[] = {inPlace ? &*inPlace : nullptr, &library};
    for (const LibraryInstruction* form : forms) {
      std::optional<Instruction> instruction =
          form != nullptr && !added ? apply(request, *form) : std::nullopt;
      if (!instruction) {
        continue;
      }
      absl::StatusOr<WorkCandidate> candidate = candidateFor(*instruction, *form);
      if (canonical && candidate.ok() && cutsByThreads(*candidate)) {
        instruction->attributes["implementation"] = "jit";
        candidate = candidateFor(*std::move(instruction), *form);
      }
      if (candidate.ok()) {
        addParts(request.input, form->results[0], *candidate);
        found.push_back(*std::move(candidate));
        addNarrow(*form, found);
        added = true;
      } else {
        refused = candidate.status();
      }
    }
  }
  if (found.empty()) {
    return refused;
  }
  costs_.judge(found);
  if (canonical) {
    keepCanonical(found);
  } else if (sparesMemory_ && llvm::any_of(library.operands, isConstant)) {
    addSparing(library, found);
  }
  return found;
}

void WorkCandidates::addSparing(const LibraryInstruction& library,
                                std::vector<WorkCandidate>& candidates) {
  std::optional<Instruction> instruction =
      apply({kDense, kDense, "", "", /*plainWeights=*/true}, library);
  absl::StatusOr<WorkCandidate> candidate =
      instruction ? candidateFor(*std::move(instruction), library)
                  : absl::UnimplementedError("the operation has no such layout");
  if (!candidate.ok()) {
    return;
  }
  candidate->nanos = costs_.estimate(*candidate);
  for (const WorkCandidate& other : candidates) {  // nothing speaks for it but its memory
    candidate->nanos = std::max(candidate->nanos, other.nanos);
  }
  candidates.push_back(*std::move(candidate));
}

std::vector<WorkCandidate> WorkCandidates::ofMap(mlir::Operation* op) const {
  std::vector<WorkCandidate> found;
  for (KernelLayout layout : {kDense, kChannelsLast, KernelLayout{Order::kChannelBlocks, block_}}) {
    std::optional<MapLayouts> layouts = mapLayouts(op, layout);
    if (!layouts) {
      continue;
    }
    WorkCandidate candidate;
    for (const TensorDesc& desc : layouts->results) {
      candidate.nanos += costs_.reorderNanos(desc);
      candidate.results.push_back(desc);
    }
    candidate.operands.assign(layouts->operands.begin(), layouts->operands.end());
    candidate.map = *std::move(layouts);
    found.push_back(std::move(candidate));
  }
  return found;
}

std::vector<WorkCandidate> WorkCandidates::ofOther(const WorkItem& item) {
  WorkCandidate dense;
  for (mlir::Value operand : item.operands) {
    dense.operands.push_back(denseDesc(operand));
  }
  for (mlir::Value result : item.results) {
    dense.results.push_back(denseDesc(result));
  }
  return {dense};
}

}  // namespace graphrun::devices::cpu
