// gRPC's completion queues, told to ThreadSanitizer: what a thread wrote before it started a batch
// of operations is there for the thread that takes the batch's tag out of the queue. gRPC's own
// locks do that, but its libraries are not built for ThreadSanitizer, which sees only the two
// threads. These functions stand before the library's in the programs of tests, and go on to it.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <sanitizer/tsan_interface.h>

namespace {

/// The library's function of that name.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t count, void* tag,
                                      void* reserved) {
  static auto* const kNext = next<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
  __tsan_release(tag);
  return kNext(call, ops, count, tag, reserved);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static auto* const kNext =
      next<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  grpc_event event = kNext(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) {
    __tsan_acquire(event.tag);
  }
  return event;
}
