#include "core/kernel_signature.hpp"

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
  for (std::size_t i = 0; i < signature.size(); ++i) {
    const KernelArgument& argument = signature[i];
    const auto set = [&](auto value) { std::memcpy(&slots_[i], &value, sizeof value); };
    pointers_[i] = &slots_[i];
    switch (argument.kind) {
      case ArgumentKind::tensor:
        set(at(values.tensors, argument.index).address);
        break;
      case ArgumentKind::size:
        set(at(values.sizes, argument.index));
        break;
      case ArgumentKind::row_stride:
        set(at(values.tensors, argument.index).row_stride);
        break;
      case ArgumentKind::scalar:
        store_element(argument.type, &slots_[i], at(values.scalars, argument.index));
        break;
      case ArgumentKind::workspace:
        set(values.workspace);
        break;
      case ArgumentKind::raster:
        set(values.raster);
        break;
      case ArgumentKind::tensor_map:
        static_cast<void>(at(values.tensors, argument.index));
        pointers_[i] = nullptr;
        break;
    }
  }
}

}  // namespace autotune
