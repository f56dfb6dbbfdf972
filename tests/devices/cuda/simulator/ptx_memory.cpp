// ld, st, atom and the conversions between spaces.
#include <algorithm>

#include "tests/devices/cuda/simulator/ptx_lanes.h"

namespace graphrun::testing::ptx {
namespace {

using Role = Pattern::Role;

/// Generic addresses with this bit are of shared memory. No allocation has it.
constexpr uint64_t kSharedWindow = uint64_t{1} << 61;

/// A lane's access: `bytes` at `address`.
struct Access {
  const Instruction& instruction;
  uint32_t lane;
  uint64_t address;
  size_t bytes;
};

std::string described(const Access& access) {
  return absl::StrCat("of ", access.bytes, " bytes at 0x", absl::Hex(access.address));
}

void fail(Warp& warp, Fault::Kind kind, const Access& access, absl::string_view why) {
  warp.fail(kind, access.instruction, access.lane, absl::StrCat(described(access), " ", why));
}

uint8_t* locateGlobal(Warp& warp, const Access& access, bool isWritten) {
  Machine& machine = warp.machine();
  Allocation& recent =
      machine.recent[static_cast<size_t>(&access.instruction - machine.program.code.data())];
  uint64_t address = access.address;
  auto isIn = [&](const Allocation& memory) {
    return address >= memory.begin && address < memory.end && access.bytes <= memory.end - address;
  };
  if (!isIn(recent)) {
    Allocation found = machine.launch.find(address);
    if (!isIn(found)) {
      fail(warp, Fault::Kind::kIllegalAddress, access,
           found.end == 0
               ? std::string("is in no allocation")
               : absl::StrCat("is not in the nearest allocation, of ", found.end - found.begin,
                              " bytes at 0x", absl::Hex(found.begin)));
      return nullptr;
    }
    recent = found;
  }
  bool isConstant = access.instruction.operation->space == Space::kConstant;
  if ((isConstant && !machine.global.noteConstantRead(address, access.bytes)) ||
      (isWritten && !machine.global.noteWrite(address, access.bytes))) {
    fail(warp, Fault::Kind::kNotConstant, access,
         "meets memory that this kernel reads by ld.global.nc and writes");
    return nullptr;
  }
  return recent.host + (address - recent.begin);
}

uint8_t* locateParameter(Warp& warp, const Access& access) {
  const std::vector<uint8_t>& parameters = warp.machine().launch.parameters;
  if (access.address > parameters.size() || access.bytes > parameters.size() - access.address) {
    fail(warp, Fault::Kind::kIllegalAddress, access, "is beyond the parameters");
    return nullptr;
  }
  return const_cast<uint8_t*>(parameters.data()) + access.address;  // which nothing writes
}

/// `from`: what is to be written; null: it is read.
uint8_t* locateShared(Warp& warp, const Access& access, const uint8_t* from) {
  SharedMemory& shared = warp.machine().shared;
  uint8_t* at = shared.view(access.address & ~kSharedWindow, access.bytes);
  if (at == nullptr) {
    fail(warp, Fault::Kind::kIllegalAddress, access, "is beyond the shared memory");
    return nullptr;
  }
  uint32_t thread = warp.thread(access.lane);
  auto wrong = from == nullptr ? shared.noteRead(at, access.bytes, thread)
                               : shared.noteWrite(at, from, access.bytes, thread);
  if (wrong) {
    fail(warp, *wrong, access,
         *wrong == Fault::Kind::kRace
             ? "meets another thread's access with no barrier between (shared memory)"
             : "reads shared memory that nothing was written to");
    return nullptr;
  }
  return at;
}

/// Where the access is on the host; null after a fault. `from`: what is to be written; null: it is
/// read.
uint8_t* locate(Warp& warp, const Access& access, const uint8_t* from) {
  if (access.address % access.bytes != 0) {
    fail(warp, Fault::Kind::kMisaligned, access, "is misaligned");
    return nullptr;
  }
  switch (access.instruction.operation->space) {
    case Space::kParameter:
      return locateParameter(warp, access);
    case Space::kGlobal:
    case Space::kConstant:
      return locateGlobal(warp, access, from != nullptr);
    case Space::kShared:
      return locateShared(warp, access, from);
    case Space::kGeneric:
      return (access.address & kSharedWindow) != 0 ? locateShared(warp, access, from)
                                                   : locateGlobal(warp, access, from != nullptr);
  }
  return nullptr;
}

template <typename V, uint8_t kCount>
void load(Warp& warp, const Instruction& instruction, uint32_t mask) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) {
      continue;
    }
    uint64_t base = warp.bits(instruction.operands[kCount], lane);
    const uint8_t* at = locate(
        warp,
        {instruction, lane, base + static_cast<uint64_t>(instruction.offset), sizeof(V) * kCount},
        nullptr);
    if (at == nullptr) {
      return;
    }
    for (uint8_t i = 0; i < kCount; ++i) {
      V value;
      std::memcpy(&value, at + i * sizeof(V), sizeof(V));
      warp.setBits(instruction.operands[i], lane, static_cast<uint64_t>(value));
    }
  }
}

template <typename V, uint8_t kCount>
void store(Warp& warp, const Instruction& instruction, uint32_t mask) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) {
      continue;
    }
    std::array<V, kCount> values;
    for (uint8_t i = 0; i < kCount; ++i) {
      values[i] = static_cast<V>(warp.bits(instruction.operands[1 + i], lane));
    }
    uint64_t base = warp.bits(instruction.operands[0], lane);
    const auto* from = reinterpret_cast<const uint8_t*>(values.data());
    uint8_t* at = locate(
        warp, {instruction, lane, base + static_cast<uint64_t>(instruction.offset), sizeof(values)},
        from);
    if (at == nullptr) {
      return;
    }
    std::memcpy(at, from, sizeof(values));
  }
}

/// What is there becomes what F makes of it and the operands; the result is what was there. Lanes
/// take their turns, blocks too.
template <typename V, typename F, size_t... kIndex>
void exchange(Warp& warp, const Instruction& instruction, uint32_t mask,
              std::index_sequence<kIndex...> /*operands*/) {
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) == 0) {
      continue;
    }
    uint64_t base = warp.bits(instruction.operands[1], lane);
    const uint8_t written = 0;
    uint8_t* at = locate(
        warp, {instruction, lane, base + static_cast<uint64_t>(instruction.offset), sizeof(V)},
        &written);
    if (at == nullptr) {
      return;
    }
    V before;
    std::memcpy(&before, at, sizeof(V));
    V after = F()(before, static_cast<V>(warp.bits(instruction.operands[2 + kIndex], lane))...);
    std::memcpy(at, &after, sizeof(V));
    warp.setBits(instruction.operands[0], lane,
                 static_cast<uint64_t>(static_cast<std::make_unsigned_t<V>>(before)));
  }
}

template <typename V, typename F, size_t kOperands>
void atomic(Warp& warp, const Instruction& instruction, uint32_t mask) {
  exchange<V, F>(warp, instruction, mask, std::make_index_sequence<kOperands>());
}

/// Of global memory alone: no kernel has another one. `function` captures nothing.
template <typename T, size_t kOperands, typename F>
void addAtomic(Operations& all, absl::string_view kind, F /*function*/) {
  std::string name = typed<T>(absl::StrCat("atom.global.", kind));
  std::vector<Pattern> patterns = {{Role::kResult, T::type}, {Role::kAddress}};
  patterns.insert(patterns.end(), kOperands, {Role::kSource, T::type});
  all.emplace(name, Operation{name, patterns, &atomic<typename T::Value, F, kOperands>, Flow::kNext,
                              Space::kGlobal});
}

/// ld.<space>.<v2>.<type> and st.
template <typename T, uint8_t kCount>
void addAccesses(Operations& all) {
  using V = typename T::Value;
  struct Named {
    absl::string_view name;
    Space space;
    bool isWritten;
  };
  for (auto [space, kind, isWritten] :
       {Named{".param", Space::kParameter, false}, Named{".global", Space::kGlobal, true},
        Named{".global.nc", Space::kConstant, false}, Named{".shared", Space::kShared, true},
        Named{"", Space::kGeneric, true}}) {
    std::string rest = typed<T>(absl::StrCat(space, kCount == 1   ? ""
                                                    : kCount == 2 ? ".v2"
                                                                  : ".v4"));
    Pattern address{Role::kAddress};
    std::string name = "ld" + rest;
    all.emplace(name, Operation{name,
                                {{Role::kResult, T::type, kCount, true}, address},
                                &load<V, kCount>,
                                Flow::kNext,
                                kind});
    if (isWritten) {
      name = "st" + rest;
      all.emplace(name, Operation{name,
                                  {address, {Role::kSource, T::type, kCount, true}},
                                  &store<V, kCount>,
                                  Flow::kNext,
                                  kind});
    }
  }
}

}  // namespace

void addMemory(Operations& all) {
  using B8 = Typed<Type::kB8, uint8_t>;
  forTypes<B8, B16, B32, B64, U8, U16, U32, U64, S8, S16, S32, S64, AsBits<F16>, AsBits<F32>,
           AsBits<F64>>([&](auto type) {
    using T = decltype(type);
    addAccesses<T, 1>(all);
    addAccesses<T, 2>(all);
    if constexpr (sizeof(typename T::Value) <= 4) {
      addAccesses<T, 4>(all);
    }
  });
  addAtomic<S32, 1>(all, "max", [](auto there, auto other) { return std::max(there, other); });
  addAtomic<B32, 2>(all, "cas", [](auto there, auto expected, auto wanted) {
    return there == expected ? wanted : there;
  });
  addRow<U64, U64>(all, "cvta.to.global.u64", [](uint64_t a) { return a; });
  addRow<U64, U64>(all, "cvta.global.u64", [](uint64_t a) { return a; });
  addRow<U64, U64>(all, "cvta.to.shared.u64", [](uint64_t a) { return a & ~kSharedWindow; });
  addRow<U64, U64>(all, "cvta.shared.u64", [](uint64_t a) { return a | kSharedWindow; });
}

}  // namespace graphrun::testing::ptx
