#include "tests/devices/cuda/simulator/ptx_program.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::testing::ptx {
namespace {

using Kind = Operand::Kind;
using Role = Pattern::Role;

bool fits(int64_t value, unsigned bytes) {
  return bytes == 8 ||
         (value >= -(int64_t{1} << (8 * bytes - 1)) && value < int64_t{1} << 8 * bytes);
}

class Compiler {
 public:
  explicit Compiler(const Kernel& kernel) : kernel_(kernel), registers_(kernel.registers.size()) {
    program_.name = kernel.name;
    program_.parameters = kernel.parameters;
    program_.blockThreads = kernel.blockThreads;
    program_.sharedBytes = kernel.sharedBytes;
  }

  absl::StatusOr<Program> compile() {
    for (const Statement& statement : kernel_.statements) {
      GR_RETURN_IF_ERROR(addStatement(statement));
    }
    return finish();
  }

 private:
  absl::StatusOr<Program> finish() {
    Statement end;
    end.opcode = "ret";
    end.line = kernel_.endLine;
    GR_RETURN_IF_ERROR(addStatement(end));
    return std::move(program_);
  }

  absl::Status addStatement(const Statement& statement);
  /// Empty, or why the operands are not those of the operation.
  std::string bind(const Operation& operation, const Statement& statement, Instruction& made);
  std::string bindOne(const Pattern& pattern, const Operand& operand, Instruction& made);
  std::string bindParts(const Pattern& pattern, const Operand& operand, Instruction& made);
  std::string bindAddress(const Operand& address, Instruction& made);
  std::string bindResult(const Pattern& pattern, const Operand& operand, Instruction& made);
  std::string bindSource(const Pattern& pattern, const Operand& operand, Instruction& made);
  std::string append(Register reg, bool isResult, Instruction& made);

  Register newRegister(unsigned bytes) {
    Register reg{program_.slots, static_cast<uint8_t>(bytes)};
    program_.slots += static_cast<uint32_t>((bytes * kLanes + kSlotBytes - 1) / kSlotBytes);
    return reg;
  }
  Register registerOf(int64_t registerNumber) {
    Register& reg = registers_[static_cast<size_t>(registerNumber)];
    if (reg.bytes == 0) {
      reg = newRegister(infoOf(kernel_.registers[static_cast<size_t>(registerNumber)]).bytes);
    }
    return reg;
  }
  Register constant(uint64_t bits, unsigned bytes) {
    auto [found, isNew] = constants_.try_emplace({bits, bytes});
    if (isNew) {
      found->second = newRegister(bytes);
      program_.constants.push_back({found->second, bits});
    }
    return found->second;
  }

  const Kernel& kernel_;
  Program program_;
  std::vector<Register> registers_;
  std::map<std::pair<uint64_t, unsigned>, Register> constants_;
};

absl::Status Compiler::addStatement(const Statement& statement) {
  auto [row, end] = operations().equal_range(statement.opcode);
  if (row == end) {
    return errorAt(statement.line,
                   absl::StrCat("the simulator does not know the instruction ", statement.opcode));
  }
  std::string why;
  for (; row != end; ++row) {
    Instruction made;
    made.line = statement.line;
    why = bind(row->second, statement, made);
    if (why.empty()) {
      program_.code.push_back(made);
      return absl::OkStatus();
    }
  }
  return errorAt(statement.line, absl::StrCat(statement.opcode, ": ", why));
}

std::string Compiler::bind(const Operation& operation, const Statement& statement,
                           Instruction& made) {
  made.operation = &operation;
  if (operation.patterns.size() != statement.operands.size()) {
    return absl::StrCat("got ", statement.operands.size(), " operands, expected ",
                        operation.patterns.size());
  }
  if (statement.guard >= 0) {
    if (operation.flow == Flow::kBarrier || operation.flow == Flow::kShuffle) {
      return "got a predicate, which the simulator does not know here";
    }
    made.guard = static_cast<int>(registerOf(statement.guard).slot);
    made.guardNot = statement.guardNot;
  }
  if (operation.flow == Flow::kBarrier &&
      (statement.operands[0].kind != Kind::kInteger || statement.operands[0].value != 0)) {
    return "the simulator knows barrier 0 only";
  }
  for (size_t i = 0; i < operation.patterns.size(); ++i) {
    std::string why = bindOne(operation.patterns[i], statement.operands[i], made);
    if (!why.empty()) {
      return absl::StrCat("operand ", i + 1, ": ", why);
    }
  }
  return "";
}

std::string Compiler::bindOne(const Pattern& pattern, const Operand& operand, Instruction& made) {
  if (pattern.role == Role::kLabel) {
    auto label = kernel_.labels.find(operand.text);
    if (operand.kind != Kind::kLabel || label == kernel_.labels.end()) {
      return absl::StrCat("there is no label ", operand.text);
    }
    made.target = static_cast<uint32_t>(label->second);
    return "";
  }
  if (pattern.role == Role::kAddress) {
    return operand.kind == Kind::kAddress ? bindAddress(operand, made) : "expected [an address]";
  }
  if (pattern.role == Role::kPair || pattern.count > 1) {
    return bindParts(pattern, operand, made);
  }
  return pattern.role == Role::kResult ? bindResult(pattern, operand, made)
                                       : bindSource(pattern, operand, made);
}

std::string Compiler::bindParts(const Pattern& pattern, const Operand& operand, Instruction& made) {
  if (pattern.role == Role::kPair) {
    if (operand.kind != Kind::kPair) {
      return "expected a|b";
    }
    std::string why = bindResult({Role::kResult, pattern.type}, operand.parts[0], made);
    return why.empty() ? bindResult({Role::kResult, Type::kPred}, operand.parts[1], made) : why;
  }
  if (operand.kind != Kind::kList || operand.parts.size() != pattern.count) {
    return absl::StrCat("expected a list of ", pattern.count);
  }
  for (const Operand& part : operand.parts) {
    std::string why = pattern.role == Role::kResult ? bindResult(pattern, part, made)
                                                    : bindSource(pattern, part, made);
    if (!why.empty()) {
      return why;
    }
  }
  return "";
}

std::string Compiler::bindAddress(const Operand& address, Instruction& made) {
  const Operand& base = address.parts[0];
  made.offset = address.value;
  switch (base.kind) {
    case Kind::kRegister:
      return bindSource({Role::kSource, Type::kB32, 1, true}, base, made);
    case Kind::kParameter:
    case Kind::kShared:
      if ((base.kind == Kind::kParameter) != (made.operation->space == Space::kParameter)) {
        return absl::StrCat(base.text, " is not in this space");
      }
      made.offset += base.value;
      return append(constant(0, 8), false, made);
    default:
      return absl::StrCat("no address: ", base.text);
  }
}

std::string Compiler::append(Register reg, bool isResult, Instruction& made) {
  made.operands[made.results + made.sources] = reg;
  ++(isResult ? made.results : made.sources);
  return "";
}

std::string Compiler::bindResult(const Pattern& pattern, const Operand& operand,
                                 Instruction& made) {
  unsigned bytes = infoOf(pattern.type).bytes;
  if (operand.kind == Kind::kSink) {
    return append(newRegister(bytes), true, made);
  }
  if (operand.kind != Kind::kRegister) {
    return "expected a register";
  }
  Register reg = registerOf(operand.value);
  bool isPredicate = kernel_.registers[static_cast<size_t>(operand.value)] == Type::kPred;
  if (isPredicate != (pattern.type == Type::kPred) || reg.bytes < bytes ||
      (reg.bytes > bytes && !pattern.wider)) {
    return absl::StrCat("got a register of ", reg.bytes, " bytes, expected ",
                        infoOf(pattern.type).name);
  }
  return append(reg, true, made);
}

std::string Compiler::bindSource(const Pattern& pattern, const Operand& operand,
                                 Instruction& made) {
  unsigned bytes = infoOf(pattern.type).bytes;
  switch (operand.kind) {
    case Kind::kRegister: {
      std::string why = bindResult(pattern, operand, made);
      if (why.empty()) {
        --made.results;
        ++made.sources;
      }
      return why;
    }
    case Kind::kSpecial: {
      Register& reg = program_.specials[static_cast<Special>(operand.value)];
      reg = reg.bytes == 0 ? newRegister(4) : reg;
      return bytes == 4 ? append(reg, false, made) : "a special register has 32 bits";
    }
    case Kind::kShared:
      return bytes >= 4 ? append(constant(static_cast<uint64_t>(operand.value), bytes), false, made)
                        : "an address has 32 or 64 bits";
    case Kind::kInteger:
      if (pattern.type == Type::kPred) {
        return append(constant(operand.value != 0 ? 1 : 0, bytes), false, made);
      }
      return fits(operand.value, bytes)
                 ? append(constant(static_cast<uint64_t>(operand.value), bytes), false, made)
                 : absl::StrCat(operand.value, " does not fit ", infoOf(pattern.type).name);
    case Kind::kF32:
    case Kind::kF64:
      return bytes == (operand.kind == Kind::kF32 ? 4 : 8)
                 ? append(constant(static_cast<uint64_t>(operand.value), bytes), false, made)
                 : absl::StrCat("got a float of another size, expected ",
                                infoOf(pattern.type).name);
    default:
      return "expected a register or a number";
  }
}

}  // namespace

absl::StatusOr<Program> compile(const Kernel& kernel) { return Compiler(kernel).compile(); }

}  // namespace graphrun::testing::ptx
