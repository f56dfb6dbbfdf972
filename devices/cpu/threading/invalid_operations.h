// The calling thread's floating-point unit remembers invalid operations: operations that make a
// NaN, and comparisons, maxima and minima that meet one. Internal to devices/cpu.
#ifndef GRAPHRUN_DEVICES_CPU_THREADING_INVALID_OPERATIONS_H_
#define GRAPHRUN_DEVICES_CPU_THREADING_INVALID_OPERATIONS_H_

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace graphrun::devices::cpu {

#if defined(__x86_64__)

/// True where an instruction that would let go of a NaN tells. Those of x86 all do: MAXPS, MINPS
/// and the ordered comparisons raise the flag for a quiet NaN too (Intel SDM, volume 1, 11.5.2.1).
inline constexpr bool kTellsOfNaN = true;

inline bool invalidRaised() { return (_mm_getcsr() & _MM_EXCEPT_INVALID) != 0; }
inline void clearInvalid() {
  if (invalidRaised()) {  // writing takes ten times as long as reading
    _mm_setcsr(_mm_getcsr() & ~static_cast<unsigned>(_MM_EXCEPT_INVALID));
  }
}
inline void raiseInvalid() { _mm_setcsr(_mm_getcsr() | _MM_EXCEPT_INVALID); }

#else

/// Maxima of other machines prefer a number to a NaN and say nothing.
inline constexpr bool kTellsOfNaN = false;

inline bool invalidRaised() { return false; }
inline void clearInvalid() {}
inline void raiseInvalid() {}

#endif

/// Watches for invalid operations of the calling thread, and of the regions that it runs on its
/// team, from here to the end of the scope. What was raised before is raised again then.
class InvalidOperations {
 public:
  InvalidOperations() : before_(invalidRaised()) { clearInvalid(); }
  ~InvalidOperations() {
    if (before_) {
      raiseInvalid();
    }
  }
  InvalidOperations(const InvalidOperations&) = delete;
  InvalidOperations& operator=(const InvalidOperations&) = delete;

  static bool any() { return invalidRaised(); }
  static void forget() { clearInvalid(); }

 private:
  bool before_;
};

}  // namespace graphrun::devices::cpu

#endif  // GRAPHRUN_DEVICES_CPU_THREADING_INVALID_OPERATIONS_H_
