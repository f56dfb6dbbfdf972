#include "runtime/compiler_loader/compiler_loader.h"

#include <dlfcn.h>
#include <malloc.h>
#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/process.h"
#include "runtime/base/sibling_library.h"
#include "runtime/base/status.h"

namespace graphrun::runtime {
namespace {

constexpr char kLibrary[] = "libgraphrun-compiler.so";
constexpr char kVariable[] = "GRAPHRUN_COMPILER_LIBRARY";

/// Owns what the compiler returned.
class Result {
 public:
  explicit Result(const GrCompilerApi* api, GrBuffer buffer = {nullptr, 0})
      : api_(api), buffer_(buffer) {}
  ~Result() { api_->release(&buffer_); }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  GrBuffer* out() { return &buffer_; }
  std::string text() const {
    return {reinterpret_cast<const char*>(buffer_.data), static_cast<size_t>(buffer_.size)};
  }
  std::vector<uint8_t> bytes() const { return {buffer_.data, buffer_.data + buffer_.size}; }
  /// No text where there was no memory for one.
  absl::Status status(int32_t code) const {
    const auto kind = static_cast<absl::StatusCode>(code);
    return code == 0 ? absl::OkStatus()
           : kind == absl::StatusCode::kUnavailable && buffer_.data == nullptr
               ? outOfMemory("the compiler")
               : absl::Status(kind, text());
  }

 private:
  const GrCompilerApi* api_;
  GrBuffer buffer_;
};

GrBytes toBytes(absl::Span<const uint8_t> span) { return {span.data(), span.size()}; }

/// The text that `call(compiler, out)` answers with.
template <typename Call>
absl::StatusOr<std::string> textBy(const absl::StatusOr<const GrCompilerApi*>& api, Call call) {
  GR_ASSIGN_OR_RETURN(const GrCompilerApi* compiler, api);
  Result result(compiler);
  GR_RETURN_IF_ERROR(result.status(call(*compiler, result.out())));
  return result.text();
}

/// A CompileContext answers what a compiler may ask for, behind C function pointers; it keeps the
/// error of a weight, of which the compiler only sees the code.
struct CompileContext {
  ReadWeight read;
  CodeStore* code;
  std::mutex mutex;
  absl::Status failure;

  static int32_t readWeight(void* context, uint32_t index, GrBytes* out) {
    auto& self = *static_cast<CompileContext*>(context);
    absl::StatusOr<absl::Span<const uint8_t>> bytes = self.read(index);
    if (!bytes.ok()) {
      std::lock_guard lock(self.mutex);
      self.failure.Update(bytes.status());
      return static_cast<int32_t>(bytes.status().code());
    }
    *out = toBytes(*bytes);
    return 0;
  }

  static int32_t findCode(void* context, const char* name, GrBytes* out) {
    CodeStore* code = static_cast<CompileContext*>(context)->code;
    auto found = code == nullptr ? std::nullopt : code->find(name);
    if (!found.has_value()) {
      return static_cast<int32_t>(absl::StatusCode::kNotFound);
    }
    *out = toBytes(*found);
    return 0;
  }

  static void storeCode(void* context, const char* name, GrBytes bytes) {
    if (CodeStore* code = static_cast<CompileContext*>(context)->code) {
      code->store(name, absl::MakeConstSpan(bytes.data, bytes.size));
    }
  }
};

/// Compiling comes last before a program is loaded, which may need the memory: the compiler's code,
/// and what it has freed between other things on the heap.
void releaseMemory(const GrCompilerApi* compiler) {
  releaseCode(reinterpret_cast<const void*>(compiler->compilePartition));
  malloc_trim(0);
}

}  // namespace

CompilerLoader::CompilerLoader(std::string library)
    : library_(library.empty() ? findSiblingLibrary(kLibrary, kVariable) : std::move(library)) {}

std::string CompilerLoader::identity() {
  struct stat file;
  if (stat(library_.c_str(), &file) != 0) {
    return absl::StrCat("api ", GR_COMPILER_API_VERSION);
  }
  return absl::StrCat("api ", GR_COMPILER_API_VERSION, " size ", file.st_size, " time ",
                      file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec);
}

bool CompilerLoader::loaded() const {
  std::lock_guard lock(mutex_);
  return api_ != nullptr;
}

absl::StatusOr<const GrCompilerApi*> CompilerLoader::api() {
  std::lock_guard lock(mutex_);
  if (api_ != nullptr) {
    return api_;
  }
  if (struct stat file; stat(library_.c_str(), &file) == 0) {
    absl::Status room =
        checkAddressSpace(0, static_cast<uint64_t>(file.st_size), "the compiler's library");
    if (!room.ok()) {
      return absl::UnavailableError(room.message());  // no plan needs less
    }
  }
  // Lazily: of the thousands of functions that MLIR could call, few are.
  void* handle = dlopen(library_.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const std::string why =
        absl::StrCat("the compiler is needed but cannot be loaded: ", dlerror());
    // The loader says no more, be it of the compiler or of a library that it needs.
    return absl::StrContains(why, "failed to map") ? outOfMemory(why)
           : absl::StrContains(why, "Too many open files")
               ? absl::UnavailableError(absl::StrCat(why, "; allow more (`ulimit -n`)"))
               : absl::InternalError(absl::StrCat(
                     why, ". Put ", kLibrary, " beside libgraphrun.so or name it in ", kVariable));
  }
  auto entry = reinterpret_cast<const GrCompilerApi* (*)()>(dlsym(handle, GR_COMPILER_API_SYMBOL));
  const GrCompilerApi* api = entry == nullptr ? nullptr : entry();
  if (api == nullptr || api->version != GR_COMPILER_API_VERSION) {
    std::string got = api == nullptr ? "none" : absl::StrCat(api->version);
    dlclose(handle);
    return absl::InternalError(absl::StrCat(library_, " has compiler interface version ", got,
                                            ", expected ", GR_COMPILER_API_VERSION,
                                            ": install both libraries from one build"));
  }
  return api_ = api;
}

absl::StatusOr<std::string> CompilerLoader::importOnnx(const std::string& path,
                                                       const std::string& outPath) {
  return textBy(api(), [&](const GrCompilerApi& compiler, GrBuffer* out) {
    return compiler.importOnnx(path.c_str(), outPath.c_str(), out);
  });
}

absl::StatusOr<std::string> CompilerLoader::checkModel(const std::string& path,
                                                       const std::vector<std::string>& shapes,
                                                       bool training) {
  GR_ASSIGN_OR_RETURN(const GrCompilerApi* compiler, api());
  std::vector<const char*> texts;
  texts.reserve(shapes.size());
  for (const std::string& shape : shapes) {
    texts.push_back(shape.c_str());
  }
  Result result(compiler);
  GR_RETURN_IF_ERROR(result.status(compiler->checkModel(path.c_str(), texts.data(), texts.size(),
                                                        training ? 1 : 0, result.out())));
  return result.text();
}

absl::StatusOr<std::string> CompilerLoader::trainingModel(const Recipe& recipe, ElementType target,
                                                          const std::string& outPath) {
  std::vector<uint8_t> metrics;
  metrics.reserve(recipe.metrics.size());
  for (MetricKind metric : recipe.metrics) {
    metrics.push_back(static_cast<uint8_t>(metric));
  }
  GrTraining training{};
  training.model = recipe.model.c_str();
  training.target = static_cast<uint8_t>(target);
  training.loss = static_cast<uint8_t>(recipe.loss.kind);
  training.fromLogits = recipe.loss.fromLogits ? 1 : 0;
  training.optimizer = static_cast<uint8_t>(recipe.optimizer.kind);
  training.nesterov = recipe.optimizer.nesterov ? 1 : 0;
  training.learningRate = recipe.optimizer.learningRate;
  training.momentum = recipe.optimizer.momentum;
  training.beta1 = recipe.optimizer.beta1;
  training.beta2 = recipe.optimizer.beta2;
  training.epsilon = recipe.optimizer.epsilon;
  training.weightDecay = recipe.optimizer.weightDecay;
  training.metrics = metrics.data();
  training.metricCount = metrics.size();
  return textBy(api(), [&](const GrCompilerApi& compiler, GrBuffer* out) {
    return compiler.trainingModel(&training, outPath.c_str(), out);
  });
}

absl::Status CompilerLoader::writeOnnxWeights(const std::string& path,
                                              absl::Span<const GrTensor> tensors,
                                              const std::string& outPath) {
  return textBy(api(),
                [&](const GrCompilerApi& compiler, GrBuffer* out) {
                  return compiler.writeOnnxWeights(path.c_str(), tensors.data(), tensors.size(),
                                                   outPath.c_str(), out);
                })
      .status();
}

absl::StatusOr<std::vector<uint8_t>> CompilerLoader::plan(absl::Span<const uint8_t> model,
                                                          const std::string& modelName,
                                                          absl::Span<const uint8_t> request) {
  GR_ASSIGN_OR_RETURN(const GrCompilerApi* compiler, api());
  GrModel given{modelName.c_str(), toBytes(model)};
  Result result(compiler);
  GR_RETURN_IF_ERROR(result.status(compiler->plan(&given, toBytes(request), result.out())));
  return result.bytes();
}

absl::StatusOr<CompiledPartition> CompilerLoader::compilePartition(const PartitionTask& task,
                                                                   ReadWeight readWeight) {
  GR_ASSIGN_OR_RETURN(const GrCompilerApi* compiler, api());
  CompileContext context{readWeight, task.code, {}, {}};
  GrPartition partition{};
  partition.plan = toBytes(task.plan);
  partition.index = task.index;
  partition.cores = task.device.cores.data();
  partition.coreCount = task.device.cores.size();
  partition.fingerprint = task.fingerprint.c_str();
  partition.readWeight = &CompileContext::readWeight;
  partition.findCode = &CompileContext::findCode;
  partition.storeCode = &CompileContext::storeCode;
  partition.context = &context;
  partition.threads = task.device.threads;
  partition.memoryBytes = task.device.memoryBytes;
  GrTuning tuning{};
  tuning.known = toBytes(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(task.timings.data()),
                                             task.timings.size()));
  tuning.refused = toBytes(absl::MakeConstSpan(
      reinterpret_cast<const uint8_t*>(task.refused.data()), task.refused.size()));
  tuning.budgetNanos = task.tuneNanos;
  Result result(compiler);
  absl::Status status =
      result.status(compiler->compilePartition(&partition, &tuning, result.out()));
  Result measured(compiler, tuning.measured);
  releaseMemory(compiler);
  if (!status.ok() && !context.failure.ok()) {
    return context.failure;
  }
  GR_RETURN_IF_ERROR(status);
  return CompiledPartition{result.bytes(), measured.text(), tuning.complete != 0};
}

absl::StatusOr<std::string> CompilerLoader::inspect(absl::Span<const uint8_t> model,
                                                    const std::string& modelName,
                                                    absl::Span<const uint8_t> request) {
  GrModel given{modelName.c_str(), toBytes(model)};
  return textBy(api(), [&](const GrCompilerApi& compiler, GrBuffer* out) {
    return compiler.inspect(&given, toBytes(request), out);
  });
}

absl::StatusOr<std::string> CompilerLoader::annotateOnnx(const std::string& path,
                                                         const std::string& explanation,
                                                         const std::string& outPath) {
  GrBytes json{reinterpret_cast<const uint8_t*>(explanation.data()), explanation.size()};
  return textBy(api(), [&](const GrCompilerApi& compiler, GrBuffer* out) {
    return compiler.annotateOnnx(path.c_str(), json, outPath.c_str(), out);
  });
}

absl::StatusOr<std::string> CompilerLoader::placeCosts(const GrCosts& costs) {
  return textBy(api(), [&](const GrCompilerApi& compiler, GrBuffer* out) {
    return compiler.placeCosts(&costs, out);
  });
}

absl::StatusOr<std::string> CompilerLoader::costs(absl::Span<const uint8_t> model,
                                                  const std::string& modelName,
                                                  absl::Span<const uint8_t> request) {
  GrModel given{modelName.c_str(), toBytes(model)};
  return textBy(api(), [&](const GrCompilerApi& compiler, GrBuffer* out) {
    return compiler.costs(&given, toBytes(request), out);
  });
}

absl::StatusOr<std::string> CompilerLoader::calibrationModel(uint32_t number,
                                                             const std::string& outPath) {
  return textBy(api(), [&](const GrCompilerApi& compiler, GrBuffer* out) {
    return compiler.calibrationModel(number, outPath.c_str(), out);
  });
}

}  // namespace graphrun::runtime
