// Runs an ONNX file on a cluster: onnx_cluster MODEL.onnx CLUSTER.yaml
#include <graphrun/session.h>

#include <cstring>
#include <iostream>

using namespace graphrun;

/// Zeros for each input; a dim that the model leaves open becomes 1.
std::vector<NamedTensor> makeInputs(const Session& session) {
  std::vector<NamedTensor> inputs;
  for (const ModelPort& port : session.inputs()) {
    TensorSpec spec{port.type, port.dims};
    for (int64_t& dim : spec.dims) {
      dim = dim < 0 ? 1 : dim;
    }
    HostTensor tensor(spec);
    std::memset(tensor.data(), 0, tensor.byteSize());
    inputs.push_back({port.name, std::move(tensor)});
  }
  return inputs;
}

/// The type of an output and, if it is of floats, its first elements.
void print(const NamedTensor& output) {
  std::cout << output.name << ": " << output.tensor.spec().toString();
  if (output.tensor.spec().type == ElementType::kF32) {
    std::cout << " =";
    for (float value : output.tensor.as<float>().subspan(0, 8)) {
      std::cout << " " << value;
    }
  }
  std::cout << "\n";
}

absl::Status runOnCluster(const std::string& model, const std::string& cluster) {
  SessionOptions options;
  options.cluster = cluster;
  GR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::create(model, options));
  std::vector<NamedTensor> outputs;
  GR_RETURN_IF_ERROR(session->run(makeInputs(*session), outputs));
  for (const DeviceStats& device : session->stats().devices) {
    std::cout << device.device << ": " << device.bytes << " bytes\n";
  }
  for (const NamedTensor& output : outputs) {
    print(output);
  }
  return absl::OkStatus();
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: onnx_cluster MODEL.onnx CLUSTER.yaml\n";
    return 2;
  }
  absl::Status status = runOnCluster(argv[1], argv[2]);
  std::cerr << status.message() << (status.ok() ? "" : "\n");
  return status.ok() ? 0 : 1;
}
