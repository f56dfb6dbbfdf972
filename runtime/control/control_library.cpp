// libgraphrun-control.so exports this to controlPlane().
#include "runtime/control/certificate_files.h"
#include "runtime/control/control_plane.h"
#include "runtime/control/grpc_client.h"
#include "runtime/control/grpc_service.h"

const graphrun::runtime::ControlPlane* grControlPlane() {
  static constexpr graphrun::runtime::ControlPlane kPlane = {
      GRAPHRUN_VERSION, graphrun::runtime::makeGrpcClient, graphrun::runtime::startGrpcService,
      graphrun::runtime::writeCertificates};
  return &kPlane;
}
