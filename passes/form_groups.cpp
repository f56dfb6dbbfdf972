// gr-form-groups: which operations become one kernel.
#include <queue>

#include "ir/dialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/group_builder.h"
#include "passes/group_rules.h"
#include "passes/passes.h"
#include "passes/pins.h"
#include "passes/quantized_forms.h"
#include "passes/weights.h"

namespace graphrun::passes {

#define GEN_PASS_DEF_FORMGROUPS
#include "passes/passes.h.inc"

namespace {

/// Position of each operation in its block when the groups were chosen.
using Positions = llvm::DenseMap<mlir::Operation*, size_t>;

class GroupFinder {
 public:
  explicit GroupFinder(mlir::Block& block) {
    for (mlir::Operation& op : block.without_terminator()) {
      positions_.try_emplace(&op, ops_.size());
      ops_.push_back(&op);
    }
  }

  /// The groups, disjoint; every other operation stands alone.
  llvm::SmallVector<GroupPlan> find() {
    // From the end: an addition of two anchors' results goes to the later one, so that the earlier
    // does not wait for it with its operands held.
    for (mlir::Operation* op : llvm::reverse(ops_)) {
      findAnchorGroup(op);
      findAttentionGroup(op);
    }
    for (mlir::Operation* op : llvm::reverse(ops_)) {
      findMapGroup(op);
    }
    return std::move(groups_);
  }

 private:
  void take(GroupPlan plan) {
    taken_.insert(plan.members.begin(), plan.members.end());
    groups_.push_back(std::move(plan));
  }

  /// The anchor and the chain of its only users that can be post-operations. An operand from
  /// outside cannot depend on a member, since no member but the last has other users: the group at
  /// the last member's position makes no cycle.
  void findAnchorGroup(mlir::Operation* anchor) {
    bool isConv = llvm::isa<ir::ConvOp, ir::ConvTransposeOp>(anchor);
    auto type = llvm::dyn_cast_or_null<mlir::RankedTensorType>(
        anchor->getNumResults() == 1 ? anchor->getResult(0).getType() : mlir::Type());
    if ((!isConv && !llvm::isa<ir::MatMulOp>(anchor)) || !type) {
      return;
    }
    bool sumsBytes = mlir::getElementTypeOrSelf(anchor->getOperand(0).getType()).isInteger(8) &&
                     type.getElementType().isInteger(32);
    if (!sumsBytes && !llvm::isa<mlir::FloatType>(type.getElementType())) {
      return;
    }
    GroupPlan plan{isConv ? ir::GroupKind::kConv : ir::GroupKind::kMatmul, {anchor}};
    int64_t channelAxis = isConv ? 1 : type.getRank() - 1;
    mlir::Value chain = anchor->getResult(0);
    size_t untilBytes = 0;  // members, up to the last that makes bytes
    CommonPin common;
    common.add(anchor);
    while (chain.hasOneUse() && plan.members.size() <= kMaxPostOps) {
      mlir::Operation* user = *chain.user_begin();
      bool canFollow = sumsBytes ? canFollowSums(user, chain, channelAxis)
                                 : canFollowAnchor(user, chain, channelAxis);
      if (!positions_.contains(user) || taken_.contains(user) || !common.allows(user) ||
          !canFollow) {
        break;
      }
      if (sumsBytes) {
        plan.members.append(dequantizationBeside(user, chain, common));
      }
      common.add(user);
      plan.members.push_back(user);
      chain = user->getResult(0);
      untilBytes =
          isByte(mlir::getElementTypeOrSelf(chain.getType())) ? plan.members.size() : untilBytes;
    }
    if (untilBytes > 0) {
      plan.members.truncate(
          untilBytes);  // floats of bytes that stay floats are cheaper to read as bytes
    }
    // Libraries have no post-operations on integers: the sums must have become floats.
    bool isFloat = !sumsBytes || !mlir::getElementTypeOrSelf(chain.getType()).isInteger(32);
    if (plan.members.size() > 1 && isFloat) {
      take(std::move(plan));
    }
  }

  /// Returns the operations that make floats of the bytes that `user` adds to `chain`, where
  /// nothing else reads those floats: the addition can read the bytes.
  llvm::SmallVector<mlir::Operation*> dequantizationBeside(mlir::Operation* user, mlir::Value chain,
                                                           const CommonPin& common) const {
    auto add = llvm::dyn_cast<ir::AddOp>(user);
    mlir::Value other = add ? (add.getLhs() == chain ? add.getRhs() : add.getLhs()) : nullptr;
    std::optional<Dequantized> bytes = other ? dequantizedOf(other) : std::nullopt;
    if (!bytes || !bytes->isUniform() || other.getType() != chain.getType() ||
        !isByte(mlir::getElementTypeOrSelf(bytes->integers.getType())) ||
        constantOf(bytes->integers)) {
      return {};
    }
    llvm::SmallVector<mlir::Operation*> ops = dequantizationOf(other);
    bool own = llvm::all_of(ops, [&](mlir::Operation* op) {
      return op->hasOneUse() && positions_.contains(op) && !taken_.contains(op) &&
             common.allows(op);
    });
    return own ? ops : llvm::SmallVector<mlir::Operation*>();
  }

  /// An attention with what its operands and its result are seen through. Of the operations before
  /// it all users are members, of those behind it each is the only user: convex.
  void findAttentionGroup(mlir::Operation* anchor) {
    if (!llvm::isa<ir::AttentionOp>(anchor) || taken_.contains(anchor)) {
      return;
    }
    llvm::SetVector<mlir::Operation*> members;
    members.insert(anchor);
    CommonPin common;
    common.add(anchor);
    auto take = [&](mlir::Operation* op) {
      common.add(op);
      members.insert(op);
    };
    auto canTake = [&](mlir::Operation* op) {
      return op != nullptr && positions_.contains(op) && !taken_.contains(op) &&
             canBeSeenThrough(op) && common.allows(op);
    };
    for (mlir::Value chain = anchor->getResult(0); chain.hasOneUse();) {
      mlir::Operation* user = *chain.user_begin();
      if (!canTake(user) || user->getNumResults() != 1 || user->getOperand(0) != chain ||
          llvm::isa<ir::SliceOp, ir::GatherOp>(user)) {
        break;
      }
      take(user);
      chain = user->getResult(0);
    }
    // What several members read is looked at again with the last of them.
    for (size_t i = 0; i < members.size(); ++i) {
      mlir::Operation* member = members[i];
      // A mask is read as it comes.
      for (mlir::Value operand : member->getOperands().take_front(member == anchor ? 3 : 1)) {
        mlir::Operation* source = operand.getDefiningOp();
        if (canTake(source) && llvm::all_of(source->getUsers(), [&](mlir::Operation* user) {
              return members.contains(user);
            })) {
          take(source);
        }
      }
    }
    takeSorted(ir::GroupKind::kAttention, members);
  }

  /// The tree that ends in `root`: operations whose users are all in it. No path leaves it and
  /// comes back, so it is convex.
  void findMapGroup(mlir::Operation* root) {
    if (!isFree(root)) {
      return;
    }
    members_.clear();
    inputs_.clear();
    common_ = CommonPin();
    add(root);
    std::priority_queue<std::pair<size_t, mlir::Operation*>> candidates;
    auto addCandidates = [&](mlir::Operation* op) {
      for (mlir::Value operand : op->getOperands()) {
        if (mlir::Operation* source = operand.getDefiningOp()) {
          if (auto position = positions_.find(source); position != positions_.end()) {
            candidates.emplace(position->second, source);
          }
        }
      }
    };
    addCandidates(root);
    // The latest first: when its turn comes, all users of an operation have been decided on.
    while (!candidates.empty() && members_.size() < kMaxMapMembers) {
      mlir::Operation* op = candidates.top().second;
      candidates.pop();
      if (members_.contains(op) || !canAdd(op, root)) {
        continue;
      }
      add(op);
      addCandidates(op);
    }
    takeMapGroup();
  }

  bool isFree(mlir::Operation* op) const { return !taken_.contains(op) && canJoinMap(op); }

  bool canAdd(mlir::Operation* op, mlir::Operation* root) const {
    return isFree(op) && common_.allows(op) && isCheapIn(op, root->getResult(0).getType()) &&
           llvm::all_of(op->getUsers(),
                        [&](mlir::Operation* user) { return members_.contains(user); }) &&
           inputsWith(op).size() <= kMaxMapInputs;
  }

  /// The group's inputs after `op` joined.
  llvm::SetVector<mlir::Value> inputsWith(mlir::Operation* op) const {
    llvm::SetVector<mlir::Value> inputs = inputs_;
    for (mlir::Value result : op->getResults()) {
      inputs.remove(result);
    }
    for (mlir::OpOperand& operand : op->getOpOperands()) {
      mlir::Operation* source = operand.get().getDefiningOp();
      if (!movesInside(operand) && (source == nullptr || !members_.contains(source))) {
        inputs.insert(operand.get());
      }
    }
    return inputs;
  }

  void add(mlir::Operation* op) {
    inputs_ = inputsWith(op);
    members_.insert(op);
    common_.add(op);
  }

  void takeMapGroup() {
    size_t kernels = llvm::count_if(members_, [](mlir::Operation* op) { return !ir::isView(op); });
    if (kernels > 0) {
      takeSorted(ir::GroupKind::kMap, members_);
    }
  }

  /// A group of `members`, unless it is one alone.
  void takeSorted(ir::GroupKind kind, const llvm::SetVector<mlir::Operation*>& members) {
    if (members.size() < 2) {
      return;
    }
    GroupPlan plan{kind, llvm::to_vector(members)};
    llvm::sort(plan.members, [&](mlir::Operation* a, mlir::Operation* b) {
      return positions_.lookup(a) < positions_.lookup(b);
    });
    take(std::move(plan));
  }

  llvm::SmallVector<mlir::Operation*> ops_;
  Positions positions_;
  llvm::DenseSet<mlir::Operation*> taken_;
  llvm::SmallVector<GroupPlan> groups_;
  // Of the map group at hand.
  llvm::SetVector<mlir::Operation*> members_;
  llvm::SetVector<mlir::Value> inputs_;
  CommonPin common_;
};

struct FormGroupsPass : impl::FormGroupsBase<FormGroupsPass> {
  void runOnOperation() override {
    if (getOperation().isExternal()) {
      return;
    }
    for (const GroupPlan& plan : GroupFinder(getOperation().getBody().front()).find()) {
      buildGroup(plan);
    }
  }
};

}  // namespace
}  // namespace graphrun::passes
