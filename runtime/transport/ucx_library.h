// UCX as loaded at run time: libucp is opened when the first transport is made, so that a process
// that needs no network has none of it, and so that its load-time side effects can be kept out.
// Internal to this folder.
#ifndef GRAPHRUN_RUNTIME_TRANSPORT_UCX_LIBRARY_H_
#define GRAPHRUN_RUNTIME_TRANSPORT_UCX_LIBRARY_H_

#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include "absl/status/statusor.h"

namespace graphrun::runtime {

// The functions that are used, from libucp and the libraries it needs.
// clang-format off: it finds no rest in a list without separators.
#define GR_UCX_FUNCTIONS(X)         \
  X(ucp_get_version)                \
  X(ucp_config_read)                \
  X(ucp_config_modify)              \
  X(ucp_config_release)             \
  X(ucp_init_version)               \
  X(ucp_cleanup)                    \
  X(ucp_context_query)              \
  X(ucp_worker_create)              \
  X(ucp_worker_destroy)             \
  X(ucp_worker_get_efd)             \
  X(ucp_worker_arm)                 \
  X(ucp_worker_progress)            \
  X(ucp_worker_query)               \
  X(ucp_worker_release_address)     \
  X(ucp_worker_set_am_recv_handler) \
  X(ucp_ep_create)                  \
  X(ucp_ep_close_nbx)               \
  X(ucp_am_send_nbx)                \
  X(ucp_am_recv_data_nbx)           \
  X(ucp_request_free)               \
  X(ucp_request_check_status)       \
  X(ucp_mem_map)                    \
  X(ucp_mem_unmap)                  \
  X(ucs_status_string)              \
  X(ucs_log_push_handler)
// clang-format on

struct UcxLibrary {
#define GR_UCX_MEMBER(name) decltype(&::name) name = nullptr;
  GR_UCX_FUNCTIONS(GR_UCX_MEMBER)
#undef GR_UCX_MEMBER
  bool memoryEvents = false;  ///< Whether it may hook malloc and mmap.
};

/// The library, loaded by the first call; `memoryEvents` counts only then. While it loads, the
/// process's environment holds further variables UCX_*: no other thread may read it then.
/// NotFound: there is no UCX on this machine.
absl::StatusOr<const UcxLibrary*> loadUcx(bool memoryEvents);

/// The library after loadUcx succeeded.
const UcxLibrary& ucx();

}  // namespace graphrun::runtime

#endif  // GRAPHRUN_RUNTIME_TRANSPORT_UCX_LIBRARY_H_
