// Puts the fake CUDA driver (fake_cuda.cpp says how its script reads) in the place of the real one,
// for this process and those that it starts. One thread.
#pragma once

#include <cstdlib>
#include <string>

namespace autotune::test {

// For as long as it lives. A driver that is open keeps to the newest script.
class FakeCuda {
 public:
  explicit FakeCuda(const std::string& script = "") {
    ::setenv("AUTOTUNE_LIBCUDA", AUTOTUNE_FAKE_CUDA, 1);
    set_script(script);
  }
  ~FakeCuda() {
    ::unsetenv("AUTOTUNE_LIBCUDA");
    ::unsetenv("FAKE_CUDA");
  }
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  void set_script(const std::string& script) { ::setenv("FAKE_CUDA", script.c_str(), 1); }
};

// The codes of which cuda.h says that the process must be terminated and relaunched.
inline constexpr int kPoisonousCodes[] = {226, 700, 702, 714, 715, 716,
                                          717, 718, 719, 721, 810, 911};

}  // namespace autotune::test
