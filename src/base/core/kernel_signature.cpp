#include "core/kernel_signature.hpp"

#include <algorithm>
#include <cstring>

#include "autotune/error.hpp"

namespace autotune {
namespace {

template <typename T>
const T& at(std::span<const T> values, std::size_t index) {
  if (index >= values.size()) throw Error("a kernel's signature names what its operation lacks");
  return values[index];
}

}  // namespace

ArgumentPack::ArgumentPack(const KernelSignature& signature, const LaunchValues& values) {
  if (signature.size() > kMost) throw Error("a kernel has more arguments than a launch can pass");
  const auto [tensors, sizes, scalars, workspace, raster] = values;  // copies, which no slot is in
  std::uint64_t* slot = slots_.data();
  void** pointer = pointers_.data();
  for (const KernelArgument& argument : signature) {
    const auto set = [slot](auto value) { std::memcpy(slot, &value, sizeof value); };
    *pointer = slot;
    switch (argument.kind) {
      case ArgumentKind::tensor:
        set(at(tensors, argument.index).address);
        break;
      case ArgumentKind::size:
        set(at(sizes, argument.index));
        break;
      case ArgumentKind::row_stride:
        set(at(tensors, argument.index).row_stride);
        break;
      case ArgumentKind::scalar:
        if (argument.type == ElementType::f32) {
          set(static_cast<float>(at(scalars, argument.index)));
        } else {
          store_element(argument.type, slot, at(scalars, argument.index));
        }
        break;
      case ArgumentKind::workspace:
        set(workspace);
        break;
      case ArgumentKind::raster:
        set(raster);
        break;
      case ArgumentKind::tensor_map:
        static_cast<void>(at(tensors, argument.index));
        *pointer = nullptr;
        first_map_ = std::min(first_map_, static_cast<std::size_t>(slot - slots_.data()));
        break;
    }
    ++slot;
    ++pointer;
  }
}

}  // namespace autotune
