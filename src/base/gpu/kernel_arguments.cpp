#include "gpu/kernel_arguments.hpp"

#include "autotune/error.hpp"

#include "gpu/driver_api.hpp"

namespace autotune::gpu {
namespace {

CUtensorMapDataType map_type(ElementType type) {
  switch (type) {
    case ElementType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case ElementType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case ElementType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ElementType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  }
  throw Error("no tensor map has elements of type " + to_string(type));
}

// The map of a tensor of which `box` rows and columns are copied at a time; zeros lie beyond it.
void encode(const Driver& driver, CUtensorMap* map, const TensorDesc& tensor,
            const LaunchValues::Tensor& placed, const LaunchGeometry::Box& box) {
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(tensor.columns),
                                static_cast<cuuint64_t>(tensor.rows)};
  const cuuint64_t strides[] = {
      static_cast<cuuint64_t>(placed.row_stride * size_bytes(tensor.type))};
  const cuuint32_t box_extents[] = {static_cast<cuuint32_t>(box[1]),
                                    static_cast<cuuint32_t>(box[0])};
  const cuuint32_t steps[] = {1, 1};
  driver.check(driver.api().cuTensorMapEncodeTiled(
                   map, map_type(tensor.type), 2,
                   reinterpret_cast<void*>(placed.address),  // NOLINT: the driver's address type
                   extents, strides, box_extents, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
               "cuTensorMapEncodeTiled");
}

}  // namespace

KernelArguments::KernelArguments(const Driver& driver, const KernelSignature& signature,
                                 const LaunchGeometry& geometry,
                                 std::span<const TensorDesc> tensors, const LaunchValues& values)
    : pack_(signature, values) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  std::size_t maps = 0;
  for (std::size_t place = pack_.first_map(); place < signature.size(); ++place) {
    const KernelArgument& argument = signature[place];
    if (argument.kind != ArgumentKind::tensor_map) continue;
    if (maps == kMostMaps) throw Error("a kernel has more tensor maps than a launch can pass");
    TensorMap& map = maps_[maps++];
    pack_.set_pointer(place, &map);
    const std::size_t tensor = argument.index;
    // A kernel that was compiled for tensors at any address does not read its maps.
    if (!geometry.needs_map(tensor)) {
      map = {};
      continue;
    }
    encode(driver, reinterpret_cast<CUtensorMap*>(&map), tensors[tensor], values.tensors[tensor],
           geometry.tensor_boxes[tensor]);
  }
}

}  // namespace autotune::gpu
