// ONNX Runtime from process start to its first result, without Python: what bench/start.py compares
// with `graphrun MODEL`. The library comes from the Python wheel, which has no header, so the few
// entries of its C interface that are needed are named here by their place in the table (it only
// ever grows at the end).
//
// ort_start LIBRARY MODEL THREADS NAME=DIMSxTYPE …: inputs are ones; TYPE is f32, i64 or i32.
// Prints the milliseconds of session, first run and second run, and the sum of the first output.
#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

enum Entry : size_t {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetIntraOpNumThreads = 24,
  kSessionGetOutputName = 37,
  kCreateTensorWithData = 49,
  kGetTensorMutableData = 51,
  kCreateCpuMemoryInfo = 69,
  kGetAllocatorWithDefaultOptions = 78,
};

struct ApiBase {
  const void* const* (*getApi)(uint32_t version);
  const char* (*getVersion)();
};

struct Input {
  std::string name;
  std::vector<int64_t> dims;
  int32_t type = 0;  // ONNXTensorElementDataType
  std::vector<char> data;
};

const void* const* api = nullptr;

template <typename... Arguments>
void call(Entry entry, Arguments... arguments) {
  auto* function = reinterpret_cast<void* (*)(Arguments...)>(const_cast<void*>(api[entry]));
  if (void* status = function(arguments...)) {
    auto* text = reinterpret_cast<const char* (*)(void*)>(const_cast<void*>(api[kGetErrorMessage]));
    std::fprintf(stderr, "ort_start: %s\n", text(status));
    std::exit(1);
  }
}

template <typename Element>
void fillOnes(Input& input, int32_t type, size_t count) {
  std::vector<Element> ones(count, Element{1});
  input.type = type;
  input.data.resize(count * sizeof(Element));
  std::memcpy(input.data.data(), ones.data(), input.data.size());
}

/// "x=1x3x224x224xf32".
Input parseInput(const std::string& text) {
  Input input;
  size_t at = text.rfind('=');
  input.name = text.substr(0, at);
  size_t count = 1;
  for (++at; std::isdigit(static_cast<unsigned char>(text[at]));) {
    size_t end = text.find('x', at);
    input.dims.push_back(std::stoll(text.substr(at, end - at)));
    count *= static_cast<size_t>(input.dims.back());
    at = end + 1;
  }
  std::string type = text.substr(at);
  if (type == "f32") {
    fillOnes<float>(input, 1, count);
  } else if (type == "i64") {
    fillOnes<int64_t>(input, 7, count);
  } else {
    fillOnes<int32_t>(input, 6, count);
  }
  return input;
}

double now() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: ort_start LIBRARY MODEL THREADS NAME=DIMSxTYPE …\n");
    return 2;
  }
  const double begin = now();
  void* library = dlopen(argv[1], RTLD_NOW);
  void* symbol = library == nullptr ? nullptr : dlsym(library, "OrtGetApiBase");
  if (symbol == nullptr) {
    std::fprintf(stderr, "ort_start: %s\n", dlerror());
    return 1;
  }
  api = reinterpret_cast<const ApiBase* (*)()>(symbol)()->getApi(1);
  void* env = nullptr;
  void* options = nullptr;
  void* session = nullptr;
  void* memory = nullptr;
  call(kCreateEnv, 3, "start", &env);
  call(kCreateSessionOptions, &options);
  call(kSetIntraOpNumThreads, options, std::atoi(argv[3]));
  call(kCreateSession, env, static_cast<const char*>(argv[2]), options, &session);
  const double created = now();
  call(kCreateCpuMemoryInfo, 0, 0, &memory);
  std::vector<Input> inputs;
  for (int i = 4; i < argc; ++i) {
    inputs.push_back(parseInput(argv[i]));
  }
  std::vector<const char*> names;
  std::vector<void*> values(inputs.size(), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    Input& input = inputs[i];
    call(kCreateTensorWithData, memory, input.data.data(), input.data.size(), input.dims.data(),
         input.dims.size(), input.type, &values[i]);
    names.push_back(input.name.c_str());
  }
  void* allocator = nullptr;
  char* outputName = nullptr;
  call(kGetAllocatorWithDefaultOptions, &allocator);
  call(kSessionGetOutputName, session, size_t{0}, allocator, &outputName);
  double times[3] = {created, 0, 0};
  float* result = nullptr;
  for (int run = 1; run < 3; ++run) {
    void* output = nullptr;
    call(kRun, session, static_cast<void*>(nullptr), names.data(), values.data(), values.size(),
         &outputName, size_t{1}, &output);
    call(kGetTensorMutableData, output, reinterpret_cast<void**>(&result));
    times[run] = now();
    if (run == 1 && argc > 4 && std::getenv("ORT_START_ONCE") != nullptr) {
      break;
    }
  }
  std::printf("session %.1f ms, first run %.1f ms, second run %.1f ms, first element %g\n",
              created - begin, times[1] - created, times[2] - times[1], result[0]);
  std::fflush(stdout);
  std::_Exit(0);
}
