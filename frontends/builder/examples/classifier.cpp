// Builds a classifier, saves it for others and runs it in this process.
#include <graphrun/graph.h>
#include <graphrun/session.h>

#include <algorithm>
#include <iostream>

using namespace graphrun;

absl::Status buildAndRun(const std::string& path) {
  Graph g("classifier");
  Tensor x = g.input("image", ElementType::kF32, {Dim("N"), 3, 32, 32});
  for (int64_t channels : {16, 32, 64}) {
    auto scope = g.scope("stage" + std::to_string(channels));
    x = layers::conv2d(x, channels, {3, 3}, {.strides = {2, 2}, .pads = {1, 1, 1, 1}});
    x = relu(layers::batchNorm(x));
  }
  x = layers::dense(layers::globalAveragePool(x), 10, {}, "head");
  g.output("probabilities", softmax(x));
  GR_RETURN_IF_ERROR(g.save(path));

  GR_ASSIGN_OR_RETURN(auto session, Session::create(g));
  TensorMap inputs;
  const std::vector<float> image(3 * 32 * 32, 0.5F);
  GR_ASSIGN_OR_RETURN(inputs["image"], HostTensor::from(image, {1, 3, 32, 32}));
  GR_ASSIGN_OR_RETURN(TensorMap outputs, session->run(inputs));
  GR_ASSIGN_OR_RETURN(auto probabilities, outputs.at("probabilities").elements<float>());
  auto top = std::max_element(probabilities.begin(), probabilities.end());
  std::cout << "class " << top - probabilities.begin() << ", probability " << *top << "\n";
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  absl::Status status = buildAndRun(argc > 1 ? argv[1] : "model.fb");
  std::cerr << status.message() << (status.ok() ? "" : "\n");
  return status.ok() ? 0 : 1;
}
