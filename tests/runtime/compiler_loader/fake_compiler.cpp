// A compile library for tests of the loader: answers with what it was given.
#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/compiler_loader/compiler_api.h"

namespace {

int32_t answer(GrBuffer* out, int32_t code, const std::string& text) {
  out->size = text.size();
  out->data = static_cast<uint8_t*>(std::malloc(text.size() + 1));
  std::memcpy(out->data, text.data(), text.size());
  return code;
}

std::string text(GrBytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data), static_cast<size_t>(bytes.size)};
}

int32_t importOnnx(const char* path, const char* outPath, GrBuffer* out) {
  bool bad = std::string(path) == "bad.onnx";
  return answer(out, bad ? 3 : 0, std::string(path) + " to " + outPath);
}

int32_t plan(const GrModel* model, GrBytes request, GrBuffer* out) {
  return answer(out, 0, std::string(model->name) + text(model->bytes) + text(request));
}

int32_t compilePartition(const GrPartition* partition, GrTuning* tuning, GrBuffer* out) {
  GrBytes weight{};
  if (int32_t code = partition->readWeight(partition->context, 5, &weight); code != 0) {
    return answer(out, 13, "a weight is missing");
  }
  tuning->complete = tuning->budgetNanos > 0 ? 1 : 0;
  answer(&tuning->measured, 0, "more than" + text(tuning->known));
  return answer(out, 0, text(partition->plan) + partition->fingerprint + text(weight));
}

int32_t inspect(const GrModel*, GrBytes, GrBuffer* out) { return answer(out, 12, "no"); }

int32_t annotateOnnx(const char* path, GrBytes explanation, const char* outPath, GrBuffer* out) {
  std::string json(reinterpret_cast<const char*>(explanation.data), explanation.size);
  return answer(out, 0, std::string(path) + " " + json + " " + outPath);
}

int32_t placeCosts(const GrCosts* costs, GrBuffer* out) {
  return answer(out, 0, std::string(costs->name) + text(costs->bytes) + costs->strategy);
}

int32_t costs(const GrModel* model, GrBytes request, GrBuffer* out) {
  return answer(out, 0, std::string(model->name) + " costs " + text(request));
}

int32_t calibrationModel(uint32_t number, const char* outPath, GrBuffer* out) {
  return answer(out, number == 0 ? 0 : 5, number == 0 ? outPath : "no more");
}

int32_t checkModel(const char* path, const char* const* shapes, uint64_t shapeCount,
                   uint8_t training, GrBuffer* out) {
  std::string told = std::string(path) + (training != 0 ? " trained" : "");
  for (uint64_t i = 0; i < shapeCount; ++i) {
    told += std::string(" ") + shapes[i];
  }
  return answer(out, 0, told);
}

int32_t trainingModel(const GrTraining* training, const char* outPath, GrBuffer* out) {
  return answer(out, 0,
                std::string(training->model) + " " + std::to_string(training->target) + " " +
                    std::to_string(training->loss) + " " + std::to_string(training->optimizer) +
                    " " + std::to_string(training->learningRate) + " " +
                    std::to_string(training->metricCount) + " " + outPath);
}

int32_t writeOnnxWeights(const char* path, const GrTensor* tensors, uint64_t count,
                         const char* outPath, GrBuffer* out) {
  const bool isWhole = count == 1 && std::string(path) == "m.onnx" &&
                       std::string(outPath) == "t.onnx" && std::string(tensors[0].name) == "w" &&
                       tensors[0].rank == 1 && tensors[0].dims[0] == 2 &&
                       tensors[0].bytes.size == 8;
  return answer(out, isWhole ? 0 : 3, isWhole ? "" : "something is missing");
}

void release(GrBuffer* buffer) {
  std::free(buffer->data);
  *buffer = {nullptr, 0};
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const GrCompilerApi* grCompilerApi() {
  static const GrCompilerApi api{FAKE_VERSION,     importOnnx,   plan,          compilePartition,
                                 inspect,          annotateOnnx, placeCosts,    costs,
                                 calibrationModel, checkModel,   trainingModel, writeOnnxWeights,
                                 release};
  return &api;
}
