// This is GraphRun's C++ API for running models: link GraphRun::graphrun.
//
//     #include <graphrun/session.h>
//
//     GR_ASSIGN_OR_RETURN(auto session, graphrun::Session::create("model.fb"));  // or a Graph
//     graphrun::TensorMap inputs;
//     GR_ASSIGN_OR_RETURN(inputs["x"], graphrun::HostTensor::from({1.0F, 2.0F}, {1, 2}));
//     GR_ASSIGN_OR_RETURN(graphrun::TensorMap outputs, session->run(inputs));
//     GR_ASSIGN_OR_RETURN(absl::Span<float> y, outputs.at("y").elements<float>());
#ifndef GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_SESSION_H_
#define GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_SESSION_H_

#include "runtime/base/element_type.h"
#include "runtime/base/status.h"
#include "runtime/base/tensor.h"
#include "runtime/session/session.h"

namespace graphrun {

using runtime::domainOf;
using runtime::elementTypeName;
using runtime::importModel;
using runtime::makeDeviceSet;

using runtime::DeviceMemoryLimit;
using runtime::DeviceStats;
using runtime::ElementType;
using runtime::ErrorDomain;
using runtime::HostTensor;
using runtime::ModelPort;
using runtime::NamedSpec;
using runtime::NamedTensor;
using runtime::Numerics;
using runtime::Objective;
using runtime::PlacementPin;
using runtime::Precision;
using runtime::Session;
using runtime::SessionOptions;
using runtime::SessionStats;
using runtime::StepTimes;
using runtime::TensorMap;
using runtime::TensorSpec;

}  // namespace graphrun

#endif  // GRAPHRUN_FRONTENDS_PACKAGE_INCLUDE_GRAPHRUN_SESSION_H_
