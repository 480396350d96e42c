// The service behind `--device cpu`: compiles portable kernels with the system's C++ compiler and
// runs them on the CPU (base/cpu). Its replies have the same meaning as those of a GPU. For a
// large problem only a sample of blocks is run, and the reply's detail says so.
#pragma once

#include <memory>

#include "tuner/worker/worker.hpp"

namespace autotune {

[[nodiscard]] std::unique_ptr<WorkerService> make_cpu_service();

}  // namespace autotune
