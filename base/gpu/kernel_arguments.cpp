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
    case ElementType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case ElementType::i8:
    case ElementType::u8:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case ElementType::i16:
    case ElementType::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case ElementType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case ElementType::u64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
  }
  throw Error("no tensor map has elements of type " + to_string(type));
}

// Makes the map of a tensor of which `box` rows and columns are copied at a time. Copies from
// beyond the tensor give zeros. The map of a batch has its matrices as a third extent; it has one
// where they are all the same.
void encode(const Driver& driver, CUtensorMap* map, const TensorDesc& tensor,
            const LaunchValues::Tensor& placed, const LaunchGeometry::Box& box,
            std::int64_t swizzle) {
  const bool is_shared = placed.matrix_stride == 0;
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(tensor.columns),
                                static_cast<cuuint64_t>(tensor.rows),
                                static_cast<cuuint64_t>(is_shared ? 1 : tensor.matrices)};
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<cuuint64_t>(elements * size_bytes(tensor.type));
  };
  const cuuint64_t strides[] = {bytes(placed.row_stride),
                                bytes(is_shared ? placed.row_stride : placed.matrix_stride)};
  const cuuint32_t box_extents[] = {static_cast<cuuint32_t>(box[1]),
                                    static_cast<cuuint32_t>(box[0]), 1};
  const cuuint32_t steps[] = {1, 1, 1};
  driver.check(driver.api().cuTensorMapEncodeTiled(
                   map, map_type(tensor.type), tensor.matrices > 1 ? 3 : 2,
                   reinterpret_cast<void*>(placed.address),  // NOLINT: the driver's address type
                   extents, strides, box_extents, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   swizzle == 0 ? CU_TENSOR_MAP_SWIZZLE_NONE : CU_TENSOR_MAP_SWIZZLE_128B,
                   CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
               "cuTensorMapEncodeTiled");
}

}  // namespace

KernelArguments::KernelArguments(const Driver& driver, const ArgumentLayout& layout,
                                 const LaunchGeometry& geometry,
                                 std::span<const TensorDesc> tensors, const LaunchValues& values)
    : pack_(layout, values) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  if (layout.maps().size() > kMostMaps) {
    throw Error("a kernel has more tensor maps than a launch can pass");
  }
  TensorMap* map = maps_.data();
  for (const auto& [argument, tensor] : layout.maps()) {
    pack_.set_pointer(argument, map);
    // A kernel that was compiled for tensors at any address does not read its maps.
    if (geometry.needs_map(tensor)) {
      encode(driver, reinterpret_cast<CUtensorMap*>(map), tensors[tensor], values.tensors[tensor],
             geometry.tensor_boxes[tensor], geometry.map_swizzle);
    } else {
      *map = {};
    }
    ++map;
  }
}

}  // namespace autotune::gpu
