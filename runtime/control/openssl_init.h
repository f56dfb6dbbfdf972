// OpenSSL is set up to live beside threads that outlive main().
#ifndef GRAPHRUN_RUNTIME_CONTROL_OPENSSL_INIT_H_
#define GRAPHRUN_RUNTIME_CONTROL_OPENSSL_INIT_H_

#include "absl/status/status.h"

namespace graphrun::runtime {

/// Initialises OpenSSL so that it does not take itself apart when the process exits: gRPC's pool
/// may still shake hands then, and a thread of it that ends late would leave its state behind.
/// To be called before anything else of OpenSSL, by whoever uses it. Thread-safe.
absl::Status initOpenssl();

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_CONTROL_OPENSSL_INIT_H_
