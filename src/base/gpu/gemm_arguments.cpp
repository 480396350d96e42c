#include "gpu/gemm_arguments.hpp"

#include "gpu/driver_api.hpp"

namespace autotune::gpu {
namespace {

constexpr std::int64_t kFloatBytes = 4;

// Of a row-major matrix of which `box` rows and columns are copied at a time; zeros beyond it.
void encode(const Driver& driver, CUtensorMap* map, std::uint64_t address, std::int64_t rows,
            std::int64_t columns, std::int64_t leading, const std::array<std::int64_t, 2>& box) {
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t strides[] = {static_cast<cuuint64_t>(leading * kFloatBytes)};
  const cuuint32_t box_extents[] = {static_cast<cuuint32_t>(box[1]),
                                    static_cast<cuuint32_t>(box[0])};
  const cuuint32_t steps[] = {1, 1};
  driver.check(driver.api().cuTensorMapEncodeTiled(
                   map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
                   reinterpret_cast<void*>(address),  // NOLINT: the driver's idea of an address
                   extents, strides, box_extents, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                   CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
               "cuTensorMapEncodeTiled");
}

}  // namespace

GemmArguments::GemmArguments(const Driver& driver, const LaunchGeometry& geometry,
                             const GemmProblem& problem, const GemmOperands& operands)
    : operands_(operands),
      m_(problem.m),
      n_(problem.n),
      k_(problem.k),
      raster_(static_cast<std::uint32_t>(geometry.raster)) {
  static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));
  const bool plain_a = problem.op_a == Transpose::none;
  const bool plain_b = problem.op_b == Transpose::none;
  if (geometry.needs_map_a()) {
    encode(driver, reinterpret_cast<CUtensorMap*>(&map_a_), operands.a, plain_a ? m_ : k_,
           plain_a ? k_ : m_, operands.lda, geometry.box_a);
  }
  if (geometry.needs_map_b()) {
    encode(driver, reinterpret_cast<CUtensorMap*>(&map_b_), operands.b, plain_b ? k_ : n_,
           plain_b ? n_ : k_, operands.ldb, geometry.box_b);
  }
  GemmOperands& o = operands_;
  pointers_ = {&o.a,   &o.b,     &o.c,    &m_,        &n_,      &k_,     &o.lda, &o.ldb,
               &o.ldc, &o.alpha, &o.beta, &o.scratch, &raster_, &map_a_, &map_b_};
}

}  // namespace autotune::gpu
