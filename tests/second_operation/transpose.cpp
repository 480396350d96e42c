#include "tests/second_operation/transpose.hpp"

#include <cmath>
#include <cstring>
#include <list>

namespace autotune::test {
namespace {

constexpr const char* kName = "transpose";

constexpr const char* kKernel = R"(
// A block copies TILE x TILE elements through shared memory; PADDING separates its rows by one
// more.
extern "C" __global__ void transpose_tiled(const double* in, double* out, long long rows,
                                           long long columns, long long in_stride,
                                           long long out_stride) {
  __shared__ double tile[TILE][TILE + PADDING];
  const long long tiles = (columns + TILE - 1) / TILE;
  const long long first_row = blockIdx.x / tiles * TILE;
  const long long first_column = blockIdx.x % tiles * TILE;
  long long row = first_row + threadIdx.y;
  long long column = first_column + threadIdx.x;
  if (row < rows && column < columns) {
    tile[threadIdx.y][threadIdx.x] = in[row * in_stride + column];
  }
  __syncthreads();
  row = first_row + threadIdx.x;
  column = first_column + threadIdx.y;
  FAULT
  if (row < rows && column < columns) {
    out[column * out_stride + row] = tile[threadIdx.x][threadIdx.y];
  }
}
)";

constexpr const char* kReference = R"(
using Index = long long;

template <typename Output, bool kMagnitudes>
__device__ __forceinline__ void copy(const ELEMENT_IN* in, Index rows, Index columns,
                                     Output* values, float* magnitudes) {
  const Index i = static_cast<Index>(blockIdx.x) * 256 + threadIdx.x;
  if (i >= rows * columns) return;
  const double value = to_double(in[i % rows * columns + i / rows]);
  from_double(value, values[i]);
  if (kMagnitudes) magnitudes[i] = static_cast<float>(fabs(value));
}

extern "C" __global__ void reference_integers(const ELEMENT_IN* in, Index rows, Index columns,
                                              ELEMENT_OUT* values) {
  copy<ELEMENT_OUT, false>(in, rows, columns, values, nullptr);
}

extern "C" __global__ void reference_real(const ELEMENT_IN* in, Index rows, Index columns,
                                          double* values, float* magnitudes) {
  copy<double, true>(in, rows, columns, values, magnitudes);
}
)";

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

std::vector<TensorDesc> tensors(const Problem& problem) {
  const std::int64_t rows = problem.size("rows");
  const std::int64_t columns = problem.size("columns");
  return {{"in", TensorRole::input, ElementType::f64, rows, columns, columns},
          {"out", TensorRole::output, ElementType::f64, columns, rows, rows}};
}

Operation make_operation() {
  return {.name = kName,
          .tensors = tensors,
          .work =
              [](const Problem& problem) {
                return Work{.bytes = 16.0 * static_cast<double>(problem.size("rows")) *
                                     static_cast<double>(problem.size("columns"))};
              },
          .distance =
              [](const Problem& a, const Problem& b) {
                return std::abs(std::log2(static_cast<double>(a.size("rows") * a.size("columns")) /
                                          static_cast<double>(b.size("rows") * b.size("columns"))));
              },
          .error_bound = [](const Problem&, InputData) { return 0.0; },  // a copy is exact
          .reference_source = kReference,
          .reference_numbers =
              [](const Problem& problem) {
                return std::vector{problem.size("rows"), problem.size("columns")};
              },
          .reference_blocks =
              [](const Problem& problem) {
                return ceil_div(problem.size("rows") * problem.size("columns"), 256);
              }};
}

// Sources with faults, which templates refer to.
std::string_view kept_source(std::string text) {
  static std::list<std::string> sources;
  return sources.emplace_back(std::move(text));
}

}  // namespace

Problem transpose_problem(std::int64_t rows, std::int64_t columns) {
  return {kName, {{"rows", rows}, {"columns", columns}}, {{"type", "f64"}}};
}

const Operation& transpose_operation() {
  static const Operation operation = make_operation();
  return operation;
}

KernelSet transpose_kernels(const std::string& fault) {
  std::string source = kKernel;
  source.replace(source.find("FAULT"), std::strlen("FAULT"), fault);
  using enum ArgumentKind;
  std::vector<KernelTemplate> templates;
  templates.push_back(
      {.name = "transpose_tiled",
       .space_version = 1,
       .operation = &transpose_operation(),
       .source = kept_source(std::move(source)),
       .space = ConfigSpace(
           {{"TILE", "rows and columns of a block's tile", {4, 8, 16, 32}},
            {"PADDING", "elements between the tile's rows", {0, 1}}},
           {{"shared_memory", "a tile without padding has at most 16 rows",
             [](const Configuration& c) { return c.at("PADDING") == 1 || c.at("TILE") <= 16; }}}),
       .signature =
           [](const Problem&) {
             return KernelSignature{{tensor, 0}, {tensor, 1},     {size, 0},
                                    {size, 1},   {row_stride, 0}, {row_stride, 1}};
           },
       .supports = [](const Problem&) { return true; },
       .default_configuration =
           [](const Problem&) {
             return Configuration({{"TILE", 16}, {"PADDING", 1}});
           },
       .geometry =
           [](const Configuration& c, const Problem& problem) {
             const std::int64_t tile = c.at("TILE");
             return LaunchGeometry{.grid = {ceil_div(problem.size("rows"), tile) *
                                                ceil_div(problem.size("columns"), tile),
                                            1, 1},
                                   .block = {tile, tile, 1}};
           },
       .shared_bytes =
           [](const Configuration& c) {
             return c.at("TILE") * (c.at("TILE") + c.at("PADDING")) * std::int64_t{sizeof(double)};
           },
       .limiting_problems = {transpose_problem(1, 1)}});
  return KernelSet(std::move(templates));
}

}  // namespace autotune::test
