// A cublasLt without a GPU, on which the fake cuBLAS depends as the real one does. It is as strict
// about attributes, their sizes and the workspace.
#include <algorithm>
#include <cstring>

#include "tests/support/fake_cublas.hpp"

namespace autotune::fake {
namespace {

constexpr std::size_t kMostWorkspace = std::size_t{32} << 20;

struct Operation {
  int compute_type = 0;
  std::int32_t transposes[2] = {};
};

struct Layout {
  Matrix matrix;
  std::int32_t batch = 1;
};

struct Preference {
  std::size_t workspace_bytes = 0;
};

// cublasLtMatmulHeuristicResult_t.
struct Result {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int status;
  float waves;
  int reserved[4];
};

// The words of a candidate's algorithm, of which every one counts.
void name(std::uint64_t (&algorithm)[8], std::size_t candidate) {
  for (std::size_t i = 0; i < 8; ++i) algorithm[i] = 1000 * candidate + i;
}

template <typename Value>
int set(Value& value, const void* from, std::size_t bytes) {
  if (bytes != sizeof value) return kInvalidValue;
  std::memcpy(&value, from, bytes);
  return kSuccess;
}

template <typename Object>
int make(void** handle, Object object) {
  *handle = new Object(object);
  return kSuccess;
}

template <typename Object>
int destroy(void* handle) {
  delete static_cast<Object*>(handle);
  return kSuccess;
}

// False for descriptors that contradict each other.
bool describe(void* operation, void* a, void* b, void* c, Product& product) {
  const auto& described = *static_cast<const Operation*>(operation);
  const auto& layout_a = *static_cast<const Layout*>(a);
  const auto& layout_b = *static_cast<const Layout*>(b);
  const auto& layout_c = *static_cast<const Layout*>(c);
  product = {.a = layout_a.matrix,
             .b = layout_b.matrix,
             .c = layout_c.matrix,
             .transpose_a = described.transposes[0] == 1,
             .transpose_b = described.transposes[1] == 1,
             .tf32 = described.compute_type == 77,
             .batch = layout_c.batch};
  return layout_a.batch == layout_c.batch && layout_b.batch == layout_c.batch;
}

}  // namespace
}  // namespace autotune::fake

using namespace autotune::fake;

extern "C" {

int cublasLtMatmulDescCreate(void** operation, int compute_type, int scale_type) {
  if ((compute_type != 68 && compute_type != 77) || scale_type != 0) return kInvalidValue;
  return make(operation, Operation{compute_type});
}
int cublasLtMatmulDescDestroy(void* operation) {
  return destroy<Operation>(operation);
}
int cublasLtMatmulDescSetAttribute(void* operation, int which, const void* from,
                                   std::size_t bytes) {
  if (which != 3 && which != 4) return kInvalidValue;  // TRANSA, TRANSB
  return set(static_cast<Operation*>(operation)->transposes[which - 3], from, bytes);
}

int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  if (type != 0) return kInvalidValue;
  return make(layout, Layout{{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns),
                              leading}});
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  return destroy<Layout>(layout);
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int which, const void* from, std::size_t bytes) {
  auto& object = *static_cast<Layout*>(layout);
  if (which == 5) return set(object.batch, from, bytes);          // BATCH_COUNT
  if (which == 6) return set(object.matrix.stride, from, bytes);  // STRIDED_BATCH_OFFSET
  return kInvalidValue;
}

int cublasLtMatmulPreferenceCreate(void** preference) {
  return make(preference, Preference{});
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  return destroy<Preference>(preference);
}
int cublasLtMatmulPreferenceSetAttribute(void* preference, int which, const void* from,
                                         std::size_t bytes) {
  if (which != 1) return kInvalidValue;  // MAX_WORKSPACE_BYTES
  return set(static_cast<Preference*>(preference)->workspace_bytes, from, bytes);
}

// All candidates need all of the workspace.
int cublasLtMatmulAlgoGetHeuristic(void*, void* operation, void* a, void* b, void* c, void* d,
                                   void* preference, int requested, Result* results, int* found) {
  Product product;
  const std::size_t workspace = static_cast<Preference*>(preference)->workspace_bytes;
  if (c != d || !describe(operation, a, b, c, product) || workspace > kMostWorkspace) {
    return kInvalidValue;
  }
  const std::vector<std::string> scripted = algorithms();
  *found = std::min(requested, static_cast<int>(scripted.size()) - 1);
  for (int i = 0; i < *found; ++i) {
    const auto candidate = static_cast<std::size_t>(i) + 1;
    results[i] = {.workspace_bytes = workspace,
                  .status = scripted[candidate] == "!" ? kNotSupported : kSuccess};
    name(results[i].algorithm, candidate);
  }
  return *found > 0 ? kSuccess : kNotSupported;
}

int cublasLtMatmul(void*, void* operation, const float* alpha, const float* a, void* layout_a,
                   const float* b, void* layout_b, const float* beta, const float* c,
                   void* layout_c, float* d, void* layout_d, const std::uint64_t* algorithm,
                   void* workspace, std::size_t workspace_bytes, void* stream) {
  Product product;
  const std::vector<std::string> scripted = algorithms();
  const std::size_t candidate = algorithm[0] / 1000;
  std::uint64_t expected[8];
  name(expected, candidate);
  if (c != d || layout_c != layout_d || candidate == 0 || candidate >= scripted.size() ||
      !std::equal(algorithm, algorithm + 8, expected) ||
      !describe(operation, layout_a, layout_b, layout_c, product)) {
    return kInvalidValue;
  }
  static_cast<char*>(workspace)[workspace_bytes - 1] = 1;
  const int status = take_time(scripted[candidate], stream);
  return status != 0 ? status : compute(product, *alpha, a, b, *beta, d);
}

}  // extern "C"
