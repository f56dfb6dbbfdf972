#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "tests/devices/cuda/simulator/ptx_operands.h"
#include "tests/devices/cuda/simulator/ptx_text.h"

namespace graphrun::testing::ptx {
namespace {

constexpr uint64_t kMostParameterBytes = 4352;
constexpr size_t kMostScopes = 16;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : in_(std::move(tokens)) {}

  absl::StatusOr<Module> parseModule() {
    GR_RETURN_IF_ERROR(parseHead());
    names_.open();
    while (!in_.peek().empty()) {
      GR_RETURN_IF_ERROR(parseDefinition());
    }
    return std::move(module_);
  }

 private:
  absl::Status parseHead();
  absl::Status parseDefinition();
  absl::Status parseKernel();
  absl::Status parseParameter();
  absl::Status parseLimits();
  absl::Status parseScope();
  absl::Status parseLine();
  absl::Status parseRegisters();
  absl::Status parseShared(bool isDynamic);
  absl::Status parseStatement();

  /// [.align 16] .b8 name[12] or name[]: name, alignment, bytes.
  struct Variable {
    absl::string_view name;
    uint64_t alignment = 1, bytes = 0;
  };
  absl::StatusOr<Variable> parseVariable();

  TokenReader in_;
  Module module_;
  Kernel kernel_;  // also what belongs to all kernels, before the first
  Names names_;
};

absl::Status Parser::parseHead() {
  if (!in_.takeIf(".version")) {
    return errorAt(in_.line(), "no .version");
  }
  in_.take();
  GR_RETURN_IF_ERROR(in_.expect(".target"));
  absl::string_view target = in_.take();
  if (!absl::StartsWith(target, "sm_") ||
      !absl::SimpleAtoi(target.substr(3, 3), &module_.architecture)) {
    return errorAt(in_.line(), absl::StrCat("got target ", target, ", expected sm_ and a number"));
  }
  GR_RETURN_IF_ERROR(in_.expect(".address_size"));
  return in_.expect("64");
}

absl::Status Parser::parseDefinition() {
  bool isExtern = false;
  while (in_.peek() == ".visible" || in_.peek() == ".extern" || in_.peek() == ".weak") {
    isExtern |= in_.take() == ".extern";
  }
  if (in_.takeIf(".entry")) {
    return parseKernel();
  }
  if (in_.takeIf(".shared")) {
    return parseShared(isExtern);
  }
  return in_.unexpected(".entry or .shared: the simulator knows kernels only");
}

absl::Status Parser::parseKernel() {
  Kernel shared = kernel_;
  kernel_.name = std::string(in_.take());
  names_.open();
  GR_RETURN_IF_ERROR(in_.expect("("));
  while (!in_.takeIf(")")) {
    GR_RETURN_IF_ERROR(parseParameter());
    if (in_.peek() != ")") {
      GR_RETURN_IF_ERROR(in_.expect(","));
    }
  }
  GR_RETURN_IF_ERROR(parseLimits());
  GR_RETURN_IF_ERROR(in_.expect("{"));
  GR_RETURN_IF_ERROR(parseScope());
  names_.close();
  module_.kernels.push_back(std::move(kernel_));
  kernel_ = std::move(shared);
  return absl::OkStatus();
}

absl::StatusOr<Parser::Variable> Parser::parseVariable() {
  Variable variable;
  if (in_.takeIf(".align")) {
    GR_ASSIGN_OR_RETURN(variable.alignment, in_.takeInteger());
    if (variable.alignment == 0 || variable.alignment > 128) {
      return errorAt(in_.line(), "got an alignment that is not in 1 … 128");
    }
  }
  GR_ASSIGN_OR_RETURN(Type type, in_.takeType());
  variable.alignment = std::max<uint64_t>(variable.alignment, infoOf(type).bytes);
  if (in_.takeIf(".ptr")) {
    while (absl::StartsWith(in_.peek(), ".")) {
      if (in_.take() == ".align") {
        in_.take();
      }
    }
  }
  variable.name = in_.take();
  variable.bytes = infoOf(type).bytes;
  if (in_.takeIf("[")) {
    uint64_t count = 0;
    if (in_.peek() != "]") {
      GR_ASSIGN_OR_RETURN(count, in_.takeInteger());
    }
    if (count > kMostStaticShared) {
      return errorAt(in_.line(), absl::StrCat("got ", count, " elements, expected at most ",
                                              kMostStaticShared));
    }
    GR_RETURN_IF_ERROR(in_.expect("]"));
    variable.bytes *= count;
  }
  return variable;
}

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

absl::Status Parser::parseParameter() {
  GR_RETURN_IF_ERROR(in_.expect(".param"));
  GR_ASSIGN_OR_RETURN(Variable variable, parseVariable());
  uint64_t end = kernel_.parameters.empty()
                     ? 0
                     : kernel_.parameters.back().offset + kernel_.parameters.back().bytes;
  uint64_t begin = roundUp(end, variable.alignment);
  if (begin + variable.bytes > kMostParameterBytes) {
    return errorAt(in_.line(),
                   absl::StrCat("got more than ", kMostParameterBytes, " bytes of parameters"));
  }
  kernel_.parameters.push_back(
      {static_cast<uint32_t>(begin), static_cast<uint32_t>(variable.bytes)});
  names_.declareAddress(variable.name, Operand::Kind::kParameter, begin);
  return absl::OkStatus();
}

/// .reqntid is kept; the others do not change what a kernel does.
absl::Status Parser::parseLimits() {
  while (in_.peek() == ".reqntid" || in_.peek() == ".maxntid" || in_.peek() == ".minnctapersm" ||
         in_.peek() == ".maxnreg") {
    bool isExact = in_.take() == ".reqntid";
    std::array<uint32_t, 3> numbers = {1, 1, 1};
    for (size_t i = 0; i < numbers.size(); ++i) {
      GR_ASSIGN_OR_RETURN(uint64_t number, in_.takeInteger());
      numbers[i] = static_cast<uint32_t>(number);
      if (!in_.takeIf(",")) {
        break;
      }
    }
    kernel_.blockThreads = isExact ? numbers : kernel_.blockThreads;
  }
  return absl::OkStatus();
}

/// What follows a {, with the scopes in it, up to its }.
absl::Status Parser::parseScope() {
  size_t outside = names_.depth();
  names_.open();
  while (names_.depth() > outside) {
    if (in_.takeIf("{")) {
      if (names_.depth() >= kMostScopes) {
        return errorAt(in_.line(), "scopes are too deep");
      }
      names_.open();
    } else if (in_.peek() == "}") {
      kernel_.endLine = in_.line();
      in_.take();
      names_.close();
    } else {
      GR_RETURN_IF_ERROR(parseLine());
    }
  }
  return absl::OkStatus();
}

absl::Status Parser::parseLine() {
  if (in_.takeIf(".reg")) {
    return parseRegisters();
  }
  if (in_.takeIf(".shared")) {
    return parseShared(false);
  }
  if (in_.takeIf(".pragma")) {
    in_.take();
    return in_.expect(";");
  }
  if (in_.peekNext() == ":" && !absl::StartsWith(in_.peek(), ".")) {
    if (!kernel_.labels.emplace(in_.peek(), kernel_.statements.size()).second) {
      return errorAt(in_.line(), absl::StrCat("label ", in_.peek(), " stands twice"));
    }
    in_.take();
    return in_.expect(":");
  }
  return parseStatement();
}

absl::Status Parser::parseRegisters() {
  GR_ASSIGN_OR_RETURN(Type type, in_.takeType());
  do {
    absl::string_view name = in_.take();
    if (in_.takeIf("<")) {
      GR_ASSIGN_OR_RETURN(uint64_t count, in_.takeInteger());
      GR_RETURN_IF_ERROR(in_.expect(">"));
      names_.declareFamily(name, type, count);
    } else {
      names_.declareRegister(name, type, kernel_.registers);
    }
  } while (in_.takeIf(","));
  return in_.expect(";");
}

absl::Status Parser::parseShared(bool isDynamic) {
  GR_ASSIGN_OR_RETURN(Variable variable, parseVariable());
  uint64_t begin = roundUp(kernel_.sharedBytes, variable.alignment);
  if (isDynamic) {
    begin = kMostStaticShared;
  } else if (begin + variable.bytes > kMostStaticShared) {
    return errorAt(in_.line(), absl::StrCat("got more than ", kMostStaticShared,
                                            " bytes of static shared memory"));
  } else {
    kernel_.sharedBytes = begin + variable.bytes;
  }
  names_.declareAddress(variable.name, Operand::Kind::kShared, begin);
  return in_.expect(";");
}

absl::Status Parser::parseStatement() {
  Statement statement;
  statement.line = in_.line();
  if (in_.takeIf("@")) {
    statement.guardNot = in_.takeIf("!");
    absl::string_view name = in_.take();
    auto guard = names_.find(name, kernel_.registers);
    if (!guard || guard->kind != Operand::Kind::kRegister ||
        kernel_.registers[static_cast<size_t>(guard->value)] != Type::kPred) {
      return errorAt(statement.line, absl::StrCat(name, " is no predicate"));
    }
    statement.guard = static_cast<int>(guard->value);
  }
  statement.opcode = std::string(in_.take());
  while (!in_.takeIf(";")) {
    GR_ASSIGN_OR_RETURN(Operand operand, readOperand(in_, names_, kernel_.registers));
    statement.operands.push_back(std::move(operand));
    if (in_.peek() != ";") {
      GR_RETURN_IF_ERROR(in_.expect(","));
    }
  }
  kernel_.statements.push_back(std::move(statement));
  return absl::OkStatus();
}

}  // namespace

absl::Status errorAt(int line, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", what));
}

absl::StatusOr<Module> parse(const std::string& text) {
  GR_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokensOf(text));
  return Parser(std::move(tokens)).parseModule();
}

}  // namespace graphrun::testing::ptx
