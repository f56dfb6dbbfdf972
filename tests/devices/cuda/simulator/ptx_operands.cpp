#include "tests/devices/cuda/simulator/ptx_operands.h"

#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace graphrun::testing::ptx {
namespace {

using Kind = Operand::Kind;

/// 0f3f800000 or 0d3ff0000000000000: the bits of a float.
std::optional<Operand> floatBits(absl::string_view text) {
  bool isF32 = absl::StartsWithIgnoreCase(text, "0f") && text.size() == 10;
  bool isF64 = absl::StartsWithIgnoreCase(text, "0d") && text.size() == 18;
  if (!isF32 && !isF64) {
    return std::nullopt;
  }
  uint64_t bits = 0;
  auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  if (error != std::errc() || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return Operand{isF32 ? Kind::kF32 : Kind::kF64, "", static_cast<int64_t>(bits), {}};
}

bool isNumber(absl::string_view text) { return !text.empty() && text[0] >= '0' && text[0] <= '9'; }

bool beginsName(absl::string_view text) {
  return !text.empty() && (absl::ascii_isalpha(static_cast<unsigned char>(text[0])) ||
                           text[0] == '%' || text[0] == '$' || text[0] == '_');
}

class OperandReader {
 public:
  OperandReader(TokenReader& in, Names& names, std::vector<Type>& registers)
      : in_(in), names_(names), registers_(registers) {}

  absl::StatusOr<Operand> read();

 private:
  absl::StatusOr<Operand> readScalar();
  absl::StatusOr<Operand> readNumber();
  absl::StatusOr<Operand> readName();
  absl::StatusOr<Operand> readAddress();
  absl::StatusOr<Operand> readList();

  TokenReader& in_;
  Names& names_;
  std::vector<Type>& registers_;
};

absl::StatusOr<Operand> OperandReader::read() {
  if (in_.takeIf("[")) {
    return readAddress();
  }
  if (in_.takeIf("{")) {
    return readList();
  }
  GR_ASSIGN_OR_RETURN(Operand first, readScalar());
  if (!in_.takeIf("|")) {
    return first;
  }
  GR_ASSIGN_OR_RETURN(Operand second, readScalar());
  return Operand{Kind::kPair, "", 0, {std::move(first), std::move(second)}};
}

absl::StatusOr<Operand> OperandReader::readScalar() {
  if (isNumber(in_.peek()) || in_.peek() == "-") {
    return readNumber();
  }
  return beginsName(in_.peek()) ? readName() : in_.unexpected("an operand");
}

absl::StatusOr<Operand> OperandReader::readNumber() {
  if (auto bits = floatBits(in_.peek())) {
    in_.take();
    return *bits;
  }
  bool isNegative = in_.takeIf("-");
  GR_ASSIGN_OR_RETURN(uint64_t value, in_.takeInteger());
  return Operand{Kind::kInteger, "", static_cast<int64_t>(isNegative ? 0 - value : value), {}};
}

absl::StatusOr<Operand> OperandReader::readName() {
  absl::string_view text = in_.take();
  if (text == "_") {
    return Operand{Kind::kSink, "", 0, {}};
  }
  if (auto special = specialNamed(text)) {
    return Operand{Kind::kSpecial, "", static_cast<int64_t>(*special), {}};
  }
  if (auto known = names_.find(text, registers_)) {
    return *std::move(known);
  }
  if (text[0] == '%') {
    return errorAt(in_.line(), absl::StrCat("register ", text, " is not declared"));
  }
  return Operand{Kind::kLabel, std::string(text), 0, {}};
}

absl::StatusOr<Operand> OperandReader::readAddress() {
  Operand address{Kind::kAddress, "", 0, {}};
  GR_ASSIGN_OR_RETURN(Operand base, readScalar());
  address.parts.push_back(std::move(base));
  if (in_.takeIf("+")) {
    GR_ASSIGN_OR_RETURN(Operand offset, readScalar());
    if (offset.kind != Kind::kInteger) {
      return errorAt(in_.line(), "got an offset that is no number");
    }
    address.value = offset.value;
  }
  GR_RETURN_IF_ERROR(in_.expect("]"));
  return address;
}

absl::StatusOr<Operand> OperandReader::readList() {
  Operand list{Kind::kList, "", 0, {}};
  do {
    GR_ASSIGN_OR_RETURN(Operand part, readScalar());
    list.parts.push_back(std::move(part));
  } while (in_.takeIf(","));
  GR_RETURN_IF_ERROR(in_.expect("}"));
  return list;
}

}  // namespace

absl::StatusOr<Operand> readOperand(TokenReader& in, Names& names, std::vector<Type>& registers) {
  return OperandReader(in, names, registers).read();
}

}  // namespace graphrun::testing::ptx
