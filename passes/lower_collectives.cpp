// gr-lower-collectives: what placed collectives are on their devices.
#include <algorithm>
#include <map>

#include "ir/builders.h"
#include "ir/dialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "passes/collectives.h"
#include "passes/partition.h"
#include "passes/passes.h"
#include "passes/weights.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_LOWERCOLLECTIVES
#include "passes/passes.h.inc"

namespace {

/// An OpPlacement says where and when an operation runs, and what it is called.
struct OpPlacement {
  mlir::StringAttr name;
  ir::DeviceAttr device;
  mlir::IntegerAttr rank;     // null where the graph has none
  mlir::IntegerAttr threads;  // null: all

  int64_t order() const { return rank ? rank.getInt() : 0; }
  mlir::Location loc() const { return mlir::NameLoc::get(name); }
};

OpPlacement placementOf(mlir::Operation* op) {
  return {mlir::StringAttr::get(op->getContext(), labelOf(op->getLoc())),
          op->getAttrOfType<ir::DeviceAttr>(ir::kDeviceAttr),
          op->getAttrOfType<mlir::IntegerAttr>(ir::kRankAttr),
          op->getAttrOfType<mlir::IntegerAttr>(ir::kThreadsAttr)};
}

mlir::FailureOr<std::vector<OpPlacement>> placementsOf(mlir::Operation* op, size_t steps) {
  auto entries = op->getAttrOfType<mlir::ArrayAttr>(kStepsAttr);
  if (!entries || entries.size() != steps) {
    return op->emitOpError() << "has " << (entries ? entries.size() : 0) << " entries in "
                             << kStepsAttr << ", expected " << steps << ": place the graph first";
  }
  std::vector<OpPlacement> placements;
  for (mlir::Attribute entry : entries) {
    auto fields = llvm::dyn_cast<mlir::DictionaryAttr>(entry);
    OpPlacement placement;
    if (fields) {
      placement = {fields.getAs<mlir::StringAttr>("name"), fields.getAs<ir::DeviceAttr>("device"),
                   fields.getAs<mlir::IntegerAttr>("rank"),
                   fields.getAs<mlir::IntegerAttr>("threads")};
    }
    if (!placement.name || !placement.device) {
      return op->emitOpError() << kStepsAttr << " has the entry " << entry
                               << ", expected {name, device, rank}";
    }
    placements.push_back(placement);
  }
  return placements;
}

using Values = llvm::SmallVector<mlir::Value>;

/// The members of a collective on each device, in order of their first.
using Members = llvm::MapVector<ir::DeviceAttr, llvm::SmallVector<unsigned>>;

class CollectiveLowering {
 public:
  CollectiveLowering(mlir::func::FuncOp func, const CollectiveLibraries& libraries)
      : func_(func), libraries_(libraries), builder_(func.getContext()) {}

  mlir::LogicalResult run() {
    llvm::SmallVector<mlir::Operation*> collectives;
    for (mlir::Operation& op : func_.front()) {
      if (isCollective(&op)) {
        collectives.push_back(&op);
      }
    }
    for (mlir::Operation* op : collectives) {
      if (mlir::failed(lower(op))) {
        return mlir::failure();
      }
    }
    setCommunicators(func_, communicators_);
    return mlir::success();
  }

 private:
  mlir::LogicalResult lower(mlir::Operation* op) {
    op_ = op;
    steps_ = stepsOf(op);
    parts_.clear();
    auto placements = placementsOf(op, steps_.size());
    if (mlir::failed(placements)) {
      return mlir::failure();
    }
    placements_ = std::move(*placements);
    builder_.setInsertionPoint(op);
    Members members = membersByDevice();
    op->replaceAllUsesWith(areTogether()             ? lowerTogether()
                           : canCommunicate(members) ? lowerToMembers(members)
                                                     : lowerToSteps());
    op->erase();
    return mlir::success();
  }

  /// By where members have their results.
  Members membersByDevice() const {
    Members members;
    for (auto [step, placement] : llvm::zip(steps_, placements_)) {
      if (step.gives) {
        members[placement.device].push_back(step.member);
      }
    }
    return members;
  }

  /// Returns whether all steps are on one device.
  bool areTogether() const {
    return llvm::all_of(placements_,
                        [&](const OpPlacement& p) { return p.device == placements_[0].device; });
  }

  /// The placement of the step that is first.
  const OpPlacement& firstPlacement() const {
    return *std::min_element(placements_.begin(), placements_.end(),
                             [](const auto& a, const auto& b) { return a.order() < b.order(); });
  }

  /// The placement of what is done for all steps at once, called as the collective: behind what all
  /// of them read, before whatever reads what one of them makes.
  OpPlacement commonPlacement(ir::DeviceAttr device) const {
    OpPlacement placement = firstPlacement();
    placement.name = mlir::StringAttr::get(op_->getContext(), labelOf(op_->getLoc()));
    placement.device = device;
    return placement;
  }

  /// Gives all operations that `build` makes at the insertion point this one.
  template <typename Build>
  auto at(const OpPlacement& placement, Build build) {
    mlir::Operation* before = builder_.getInsertionPoint()->getPrevNode();
    auto result = build(placement.loc());
    mlir::Operation* end = &*builder_.getInsertionPoint();
    mlir::Operation* op = before != nullptr ? before->getNextNode() : &end->getBlock()->front();
    for (; op != end; op = op->getNextNode()) {
      if (!isWeight(op)) {
        settle(op, placement);
      }
    }
    return result;
  }

  static void settle(mlir::Operation* op, const OpPlacement& placement) {
    op->setAttr(ir::kDeviceAttr, placement.device);
    if (placement.rank) {
      op->setAttr(ir::kRankAttr, placement.rank);
    }
    if (placement.threads) {
      op->setAttr(ir::kThreadsAttr, placement.threads);
    }
  }

  /// Returns the kind of a combination, and nothing for a gather.
  std::optional<ir::ReduceKind> kind() const {
    return llvm::TypeSwitch<mlir::Operation*, std::optional<ir::ReduceKind>>(op_)
        .Case<ir::AllReduceOp, ir::ReduceScatterOp>([](auto op) { return op.getKind(); })
        .Default([](mlir::Operation*) { return std::nullopt; });
  }
  /// Returns what members combine their own by, before a mean is made of it.
  std::optional<ir::ReduceKind> sentKind() const {
    return kind() == ir::ReduceKind::kMean ? ir::ReduceKind::kSum : kind();
  }
  ir::CollectiveKind collective() const {
    return gathers()    ? ir::CollectiveKind::kAllGather
           : scatters() ? ir::CollectiveKind::kReduceScatter
                        : ir::CollectiveKind::kAllReduce;
  }
  int64_t axis() const {
    auto axis = op_->getAttrOfType<mlir::IntegerAttr>("axis");
    return axis ? axis.getInt() : 0;
  }
  int64_t count() const { return static_cast<int64_t>(op_->getNumOperands()); }
  bool gathers() const { return llvm::isa<ir::AllGatherOp>(op_); }
  bool scatters() const { return llvm::isa<ir::ReduceScatterOp>(op_); }

  /// All on one device: computed once. Where that is what each step is, as the first of them, so
  /// that a run measures it.
  Values lowerTogether() {
    bool isOneStep = !steps_[0].cuts && !scatters();
    return at(isOneStep ? firstPlacement() : commonPlacement(placements_[0].device),
              [&](mlir::Location loc) {
                mlir::ValueRange operands = op_->getOperands();
                mlir::Value whole =
                    gathers() ? buildConcat(builder_, loc, operands, axis())
                              : buildCombination(builder_, loc, *kind(), operands, count());
                return scatters() ? buildEqualParts(builder_, loc, whole, axis(), count())
                                  : Values(op_->getNumOperands(), whole);
              });
  }

  Values lowerToSteps();
  mlir::Value partOf(mlir::Value operand, unsigned member);
  mlir::Value buildPlaced(size_t step, mlir::ValueRange inputs);

  bool canCommunicate(const Members& members) const;
  bool hasOneLibrary(const Members& members) const;
  bool keepsOrder(const Members& members) const;
  int64_t communicatorOf(const Members& members);
  Values lowerToMembers(const Members& members);
  mlir::Value buildMember(mlir::Location loc, mlir::Value value, int64_t communicator,
                          int64_t devices);

  mlir::func::FuncOp func_;
  const CollectiveLibraries& libraries_;
  mlir::OpBuilder builder_;
  std::vector<Communicator> communicators_;
  // Of the collective that is being lowered:
  mlir::Operation* op_ = nullptr;
  std::vector<CollectiveStep> steps_;
  std::vector<OpPlacement> placements_;
  llvm::DenseMap<mlir::Value, Values> parts_;  // of operands
};

/// Each step where it was placed. What several make on one device is made once.
Values CollectiveLowering::lowerToSteps() {
  Values cut;
  Values results(op_->getNumResults());
  std::map<std::pair<const void*, bool>, mlir::Value>
      made;  // by device, and whether the step joins
  for (auto [i, step] : llvm::enumerate(steps_)) {
    Values inputs(op_->getOperands());
    if (step.joins) {
      inputs = cut;
    } else if (step.cuts) {
      llvm::transform(op_->getOperands(), inputs.begin(), [&, member = step.member](mlir::Value v) {
        return isCutAtSource(v) ? partOf(v, member) : v;
      });
    }
    mlir::Value known;
    mlir::Value& value =
        step.isOwn ? known : made[{placements_[i].device.getAsOpaquePointer(), step.joins}];
    if (!value) {
      value = buildPlaced(i, inputs);
    }
    if (step.gives) {
      results[step.member] = value;
    } else {
      cut.push_back(value);
    }
  }
  return results;
}

/// A step as the first of all that are done with it.
mlir::Value CollectiveLowering::buildPlaced(size_t step, mlir::ValueRange inputs) {
  OpPlacement placement = placements_[step];
  for (size_t i = step + 1; i < steps_.size() && !steps_[step].isOwn; ++i) {
    bool isSame =
        steps_[i].joins == steps_[step].joins && placements_[i].device == placement.device;
    if (isSame && placements_[i].order() < placement.order()) {
      placement = placements_[i];
    }
  }
  return at(placement, [&](mlir::Location loc) {
    return buildStep(builder_, loc, op_, steps_[step], inputs);
  });
}

/// Cuts an operand right behind what makes it, on its device.
mlir::Value CollectiveLowering::partOf(mlir::Value operand, unsigned member) {
  auto [found, isNew] = parts_.try_emplace(operand);
  if (isNew) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointAfter(operand.getDefiningOp());
    OpPlacement placement = placementOf(operand.getDefiningOp());
    placement.name = mlir::StringAttr::get(op_->getContext(), labelOf(op_->getLoc()) + "/parts");
    Values parts =
        at(placement, [&](mlir::Location loc) { return buildParts(builder_, loc, op_, operand); });
    found->second = std::move(parts);
  }
  return found->second[member];
}

/// Returns whether each device can take its members' part by one gr.collective_member.
bool CollectiveLowering::canCommunicate(const Members& members) const {
  // A member's steps on two devices: its result is not where its part is combined.
  bool isWhole = llvm::all_of(llvm::zip(steps_, placements_), [&](auto pair) {
    const auto& [step, placement] = pair;
    auto found = members.find(placement.device);
    return found != members.end() && llvm::is_contained(found->second, step.member);
  });
  return isWhole && isCarried(op_) && hasOneLibrary(members) && keepsOrder(members);
}

bool CollectiveLowering::hasOneLibrary(const Members& members) const {
  auto textOf = [&](ir::DeviceAttr device) {
    auto found = libraries_.find(device.getName().str());
    return found == libraries_.end() ? std::string() : found->second;
  };
  std::string text = textOf(members.front().first);
  return members.size() > 1 && !text.empty() &&
         llvm::all_of(members, [&](const auto& entry) { return textOf(entry.first) == text; });
}

/// Returns whether devices have equally many members, next to each other.
bool CollectiveLowering::keepsOrder(const Members& members) const {
  return llvm::isa<ir::AllReduceOp>(op_) || llvm::all_of(members, [&](const auto& entry) {
           return entry.second.size() == members.front().second.size() &&
                  entry.second.back() - entry.second.front() + 1 == entry.second.size();
         });
}

int64_t CollectiveLowering::communicatorOf(const Members& members) {
  Communicator devices;
  for (const auto& [device, mine] : members) {
    devices.push_back(device.getName().str());
  }
  auto found = llvm::find(communicators_, devices);
  if (found == communicators_.end()) {
    communicators_.push_back(std::move(devices));
    return static_cast<int64_t>(communicators_.size()) - 1;
  }
  return found - communicators_.begin();
}

/// One gr.collective_member a device, for what its members have together. They all have the same
/// position in the order: so members of several collectives meet in one order everywhere.
Values CollectiveLowering::lowerToMembers(const Members& members) {
  int64_t communicator = communicatorOf(members);
  auto devices = static_cast<int64_t>(members.size());
  Values results(op_->getNumResults());
  for (const auto& [device, mine] : members) {
    OpPlacement placement = commonPlacement(device);
    placement.threads = nullptr;
    Values operands;
    for (unsigned member : mine) {
      operands.push_back(op_->getOperand(member));
    }
    Values made = at(placement, [&](mlir::Location loc) {
      mlir::Value own = gathers() ? buildConcat(builder_, loc, operands, axis())
                                  : buildCombination(builder_, loc, *sentKind(), operands, count());
      mlir::Value value = buildMember(loc, own, communicator, devices);
      if (kind() != sentKind()) {
        value = buildCombination(builder_, loc, *kind(), value, count());
      }
      auto size = static_cast<int64_t>(mine.size());
      return scatters() ? buildEqualParts(builder_, loc, value, axis(), size)
                        : Values(mine.size(), value);
    });
    for (auto [member, value] : llvm::zip(mine, made)) {
      results[member] = value;
    }
  }
  return results;
}

/// Builds the device's part of the collective, with `value` as its own operand. Dims of 1 before
/// the axis do not change where elements are.
mlir::Value CollectiveLowering::buildMember(mlir::Location loc, mlir::Value value,
                                            int64_t communicator, int64_t devices) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  bool hasAxis = gathers() || scatters();
  llvm::ArrayRef<int64_t> dims = type.getShape().drop_front(hasAxis ? axis() : 0);
  llvm::SmallVector<int64_t> made(dims);
  if (hasAxis) {
    made[0] = gathers() ? made[0] * devices : made[0] / devices;
  }
  auto madeType = mlir::RankedTensorType::get(made, type.getElementType());
  mlir::Value result = builder_.create<ir::CollectiveMemberOp>(
      loc, madeType, buildReshape(builder_, loc, value, dims), collective(), sentKind(),
      communicator, madeType);
  llvm::SmallVector<int64_t> shape(type.getShape());
  if (hasAxis) {
    shape[static_cast<size_t>(axis())] = made[0];
  }
  return buildReshape(builder_, loc, result, shape);
}

struct LowerCollectivesPass : impl::LowerCollectivesBase<LowerCollectivesPass> {
  using LowerCollectivesBase::LowerCollectivesBase;
  void runOnOperation() override {
    CollectiveLibraries table;
    for (const std::string& entry : libraries) {
      auto [device, text] = llvm::StringRef(entry).split('=');
      table[device.str()] = text.str();
    }
    mlir::FailureOr<mlir::func::FuncOp> func = graphOf(getOperation());
    if (mlir::failed(func) || mlir::failed(lowerCollectives(*func, table))) {
      return signalPassFailure();
    }
  }
};

}  // namespace

mlir::LogicalResult lowerCollectives(mlir::func::FuncOp func,
                                     const CollectiveLibraries& libraries) {
  return CollectiveLowering(func, libraries).run();
}

}  // namespace graphrun::passes
