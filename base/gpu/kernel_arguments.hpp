// The arguments of a kernel launch on a GPU, tensor maps included.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/kernel_signature.hpp"
#include "core/launch_geometry.hpp"
#include "core/tensor.hpp"
#include "gpu/driver.hpp"

namespace autotune::gpu {

class KernelArguments {
 public:
  // `tensors` are those of the operation, in its order, for the tensor maps that the geometry asks
  // for. Row strides come from `values`, which must outlive the launch as for ArgumentPack. Throws
  // DriverError when the driver cannot make a tensor map, and Error as ArgumentPack does.
  KernelArguments(const Driver& driver, const ArgumentLayout& layout,
                  const LaunchGeometry& geometry, std::span<const TensorDesc> tensors,
                  const LaunchValues& values);
  KernelArguments(const KernelArguments&) = delete;
  KernelArguments& operator=(const KernelArguments&) = delete;

  // The pointers for Kernel::launch().
  [[nodiscard]] void** pointers() { return pack_.pointers(); }

 private:
  static constexpr std::size_t kMostMaps = 3;
  struct alignas(64) TensorMap {
    std::array<std::byte, 128> bytes;
  };

  ArgumentPack pack_;
  std::array<TensorMap, kMostMaps> maps_;  // used from the first one on, as the signature needs
};

}  // namespace autotune::gpu
