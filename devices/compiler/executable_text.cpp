#include "devices/compiler/executable_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace graphrun::devices {
namespace {

std::string textOf(const Argument& argument) {
  return absl::StrCat("%", argument.buffer, " ", argument.desc.spec().toString(),
                      argument.desc.layout.empty() ? "" : " laid out");
}

std::string textOf(const std::vector<Argument>& arguments) {
  return absl::StrJoin(arguments, ", ", [](std::string* out, const Argument& argument) {
    out->append(textOf(argument));
  });
}

std::string textOf(const Buffer& buffer) {
  constexpr const char* kKinds[] = {"arena", "weight", "constant", "input", "output", "receive"};
  std::string kind = kKinds[static_cast<int>(buffer.kind)];
  bool isNumbered = !buffer.isStored() && buffer.kind != BufferKind::kArena;
  if (buffer.kind == BufferKind::kArena) {
    absl::StrAppend(&kind, " at ", buffer.offset);
  } else if (isNumbered || buffer.kind == BufferKind::kWeight) {
    absl::StrAppend(&kind, " ", buffer.index);
  }
  return absl::StrCat(kind, ", ", buffer.bytes, " bytes", buffer.splat ? ", splat" : "");
}

std::string textOf(const PostOp& post) {
  constexpr const char* kKinds[] = {"", "sum", "add", "mul", "max", "min", "sub", "div"};
  return absl::StrCat(
      post.kind == PostOpKind::kEltwise ? post.algorithm : kKinds[static_cast<int>(post.kind)],
      post.operand ? absl::StrCat(" ", textOf(*post.operand)) : "");
}

std::string textOf(const Extent& extent) {
  return absl::StrCat(extent.x, "x", extent.y, "x", extent.z);
}

std::string textOf(const Instruction& instruction) {
  std::string text =
      absl::StrCat(instruction.kernel, " ", instruction.operation, " (", textOf(instruction.inputs),
                   ") -> (", textOf(instruction.outputs), ")");
  for (const PostOp& post : instruction.postOps) {
    absl::StrAppend(&text, " then ", textOf(post));
  }
  if (attributeOr(instruction, "tf32", false).value_or(false)) {
    absl::StrAppend(&text, " in tf32");
  }
  if (instruction.scratch) {
    absl::StrAppend(&text, " scratch ", textOf(*instruction.scratch));
  }
  if (instruction.kernel == "send" || instruction.kernel == "receive") {
    absl::StrAppend(&text, " edge ", instruction.edge);
  }
  if (instruction.block.volume() > 0) {
    absl::StrAppend(&text, " grid ", textOf(instruction.grid), " block ",
                    textOf(instruction.block));
  }
  if (!instruction.sizes.empty()) {
    absl::StrAppend(&text, " sizes ", absl::StrJoin(instruction.sizes, " "));
  }
  return text;
}

}  // namespace

std::string textOf(const Executable& executable) {
  std::string text = absl::StrCat("arena ", executable.arenaBytes, " bytes\n");
  for (size_t i = 0; i < executable.buffers.size(); ++i) {
    absl::StrAppend(&text, "%", i, " = ", textOf(executable.buffers[i]), "\n");
  }
  for (const Instruction& instruction : executable.instructions) {
    absl::StrAppend(&text, textOf(instruction), "\n");
  }
  for (const Endpoint& output : executable.outputs) {
    absl::StrAppend(&text, "output ", output.name, " %", output.buffer, "\n");
  }
  return text;
}

}  // namespace graphrun::devices
