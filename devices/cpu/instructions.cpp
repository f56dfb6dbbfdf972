#include "devices/cpu/instructions.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace graphrun::devices::cpu {

bool sumsBytesExactly() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_avx2_vnni:
    case dnnl_cpu_isa_avx512_core_vnni:
    case dnnl_cpu_isa_avx512_core_bf16:
    case dnnl_cpu_isa_avx512_core_amx:
      return true;
    default:
      return false;
  }
}

bool multipliesBFloat16() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_avx512_core_bf16:
    case dnnl_cpu_isa_avx512_core_amx:
      return true;
    default:
      return false;
  }
}

}  // namespace graphrun::devices::cpu
