#pragma once

#include <cfenv>
#if defined(__x86_64__)
#  include <immintrin.h>
#endif

namespace sluice {

/// While it lives, the calling thread computes with the default floating-point environment, so that a user's
/// rounding mode or flush-to-zero does not change a result; afterwards with its own again.
class float_environment {
public:
#if defined(__x86_64__)
  // fegetenv also saves the x87 unit, which nothing here uses, and takes ten times as long.
  float_environment() noexcept { _mm_setcsr(0x1f80); }
  ~float_environment() { _mm_setcsr(before_); }
#else
  float_environment() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~float_environment() { std::fesetenv(&before_); }
#endif
  float_environment(const float_environment&) = delete;
  float_environment& operator=(const float_environment&) = delete;

private:
#if defined(__x86_64__)
  const unsigned before_ = _mm_getcsr();
#else
  std::fenv_t before_;
#endif
};

} // namespace sluice
