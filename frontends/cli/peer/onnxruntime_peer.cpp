#include "frontends/cli/peer/onnxruntime_peer.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "frontends/cli/command_line.h"
#include "runtime/base/clock.h"
#include "runtime/base/npy.h"
#include "runtime/base/status.h"

namespace graphrun::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "graphrun-onnxruntime";
constexpr int64_t kMostNanos = int64_t{600} * 1'000'000'000;  // for an answer: models may be large

std::string pythonProgram() {
  const char* given = std::getenv("GRAPHRUN_PYTHON");
  return given != nullptr && *given != '\0' ? given : "python3";
}

absl::StatusOr<std::string> helperProgram() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error).parent_path() / kProgram;
  return fs::is_regular_file(path, error)
             ? absl::StatusOr<std::string>(path.string())
             : usageError(absl::StrCat("--compare-to onnxruntime needs ", path.string(),
                                       ", which is installed with graphrun; install it again"));
}

/// Returns the status for an answer {"error", "kind"}.
absl::Status failureOf(const Json& told) {
  const std::string error = told.value("error", "");
  const std::string kind = told.value("kind", "");
  if (kind == "missing") {
    return usageError(absl::StrCat(
        "--compare-to onnxruntime: ONNX Runtime cannot be used: ", error, "; install it with `",
        pythonProgram(),
        " -m pip install onnxruntime numpy`, or name a Python that has it in GRAPHRUN_PYTHON"));
  }
  const std::string message = absl::StrCat("--compare-to onnxruntime: ", error);
  return kind == "usage"   ? usageError(message)
         : kind == "model" ? fileError(absl::InvalidArgumentError(message))
                           : absl::InternalError(message);
}

}  // namespace

absl::StatusOr<std::unique_ptr<OnnxRuntimePeer>> OnnxRuntimePeer::start(
    const std::string& model, absl::Span<const runtime::NamedTensor> inputs, uint32_t threads) {
  GR_ASSIGN_OR_RETURN(runtime::ScratchFolder folder, runtime::ScratchFolder::create());
  std::unique_ptr<OnnxRuntimePeer> peer(new OnnxRuntimePeer(std::move(folder)));
  GR_RETURN_IF_ERROR(peer->writeInputs(inputs));
  GR_RETURN_IF_ERROR(peer->spawn(model, threads));
  GR_ASSIGN_OR_RETURN(Json ready, peer->answer());
  peer->version_ = ready.value("version", "");
  return peer;
}

OnnxRuntimePeer::~OnnxRuntimePeer() {
  if (fd_ >= 0) {
    close(fd_);
  }
  if (pid_ > 0) {
    kill(pid_, SIGKILL);  // it holds nothing that is worth its end
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

absl::Status OnnxRuntimePeer::writeInputs(absl::Span<const runtime::NamedTensor> inputs) const {
  Json entries = Json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string file = absl::StrCat("input", i, ".npy");
    GR_RETURN_IF_ERROR(runtime::writeNpy((folder_.path() / file).string(), inputs[i].tensor));
    entries.push_back({{"name", inputs[i].name}, {"file", file}});
  }
  return writeText((folder_.path() / "inputs.json").string(), dump(entries));
}

absl::Status OnnxRuntimePeer::spawn(const std::string& model, uint32_t threads) {
  GR_ASSIGN_OR_RETURN(std::string program, helperProgram());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::ErrnoToStatus(errno, "cannot make a socket for ONNX Runtime's process");
  }
  fd_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawnattr_t attributes;  // Ctrl-C is for this process, which may still want an answer
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string python = pythonProgram();
  std::string file = model, folder = folder_.path().string(), count = absl::StrCat(threads);
  char* arguments[] = {python.data(), program.data(), file.data(),
                       folder.data(), count.data(),   nullptr};
  const int error = posix_spawnp(&pid_, python.c_str(), &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) {
    pid_ = -1;
    return usageError(absl::StrCat("--compare-to onnxruntime: '", python,
                                   "' cannot be started: ", std::strerror(error),
                                   "; install Python 3, or name it in GRAPHRUN_PYTHON"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> OnnxRuntimePeer::line() {
  const int64_t deadline = runtime::nowNanos() + kMostNanos;
  while (true) {
    if (size_t end = received_.find('\n'); end != std::string::npos) {
      std::string line = received_.substr(0, end);
      received_.erase(0, end + 1);
      return line;
    }
    const int64_t left = (deadline - runtime::nowNanos()) / 1'000'000;
    pollfd waited{fd_, POLLIN, 0};
    const int ready = left <= 0 ? 0 : poll(&waited, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return absl::DeadlineExceededError(absl::StrCat(
          "ONNX Runtime's process gave no answer within ", kMostNanos / 1'000'000'000, " s"));
    }
    char part[4096];
    const ssize_t got = read(fd_, part, sizeof(part));
    if (got == 0 || (got < 0 && errno != EINTR)) {
      return absl::InternalError(
          "--compare-to onnxruntime: ONNX Runtime's process ended without an answer; what it said "
          "is above");
    }
    received_.append(part, got > 0 ? static_cast<size_t>(got) : 0);
  }
}

absl::StatusOr<Json> OnnxRuntimePeer::answer() {
  GR_ASSIGN_OR_RETURN(std::string text, line());
  Json told = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!told.is_object()) {
    return absl::InternalError("ONNX Runtime's process gave an answer that is not understood");
  }
  if (told.contains("error")) {
    return failureOf(told);
  }
  return told;
}

absl::StatusOr<Json> OnnxRuntimePeer::ask(const std::string& command) {
  const std::string text = command + "\n";
  if (send(fd_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    return absl::InternalError("--compare-to onnxruntime: ONNX Runtime's process has ended");
  }
  return answer();
}

absl::StatusOr<double> OnnxRuntimePeer::run() {
  GR_ASSIGN_OR_RETURN(Json told, ask("run"));
  return told.value("ms", 0.0);
}

absl::StatusOr<std::vector<runtime::NamedTensor>> OnnxRuntimePeer::outputs(
    absl::Span<const runtime::ModelPort> ports) {
  GR_ASSIGN_OR_RETURN(Json told, ask("write"));
  std::vector<runtime::NamedTensor> outputs;
  for (const Json& entry : told.value("outputs", Json::array())) {
    const std::string name = entry.value("name", "");
    runtime::ElementType type = runtime::ElementType::kInvalid;
    for (const runtime::ModelPort& port : ports) {
      type = port.name == name ? port.type : type;
    }
    const fs::path file = folder_.path() / entry.value("file", "");
    GR_ASSIGN_OR_RETURN(runtime::HostTensor tensor, runtime::readNpy(file.string(), type));
    outputs.push_back({name, std::move(tensor)});
  }
  return outputs;
}

}  // namespace graphrun::cli
