// gRPC credentials follow from the rules of security.h.
#ifndef GRAPHRUN_RUNTIME_CONTROL_CREDENTIALS_H_
#define GRAPHRUN_RUNTIME_CONTROL_CREDENTIALS_H_

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>

#include "absl/status/statusor.h"
#include "runtime/control/address.h"
#include "runtime/control/security.h"

namespace graphrun::runtime {

/// Credentials to listen at `address`, or FailedPrecondition when it needs certificates.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> serverCredentials(
    const Address& address, const Security& security);

/// Credentials to connect to `address`, or FailedPrecondition when it needs certificates.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> channelCredentials(
    const Address& address, const Security& security);

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_CREDENTIALS_H_
