// What is traced of small kernels whose accesses are plain to see.
#include "cpu/access_trace.hpp"

#include <doctest/doctest.h>

#include "autotune/error.hpp"

#include "cpu/compiler.hpp"

namespace autotune {
namespace {

// Traces one block of `threads` threads in a kernel with an input `a` and an output `b`, of 1024
// FP32 elements each.
std::vector<WarpAccess> traced(const std::string& body, std::int64_t threads = 32,
                               std::int64_t turns = 1) {
  const CpuCompileResult compiled = CpuCompiler().compile(
      "probe",
      "inline int behind(int i) { return i; }\n"  // the kernel, as linkers order them
      "extern \"C\" __global__ void probe(const float* a, float* b) {\n"
      "const int t = threadIdx.x;\n" +
          body + "}",
      {}, CpuCode::traced);
  REQUIRE_MESSAGE(compiled.ok, compiled.log);
  const auto tensor = [](const char* name, TensorRole role) {
    return TensorDesc{name, role, ElementType::f32, 1, 1024, 1024};
  };
  return trace_block(compiled.image,
                     {.kernel_name = "probe",
                      .signature = {{ArgumentKind::tensor, 0}, {ArgumentKind::tensor, 1}},
                      .geometry = {.block = {threads, 1, 1}},
                      .tensors = {tensor("a", TensorRole::input), tensor("b", TensorRole::output)},
                      .turns = turns});
}

std::vector<WarpAccess> named(const std::string& name, const std::vector<WarpAccess>& accesses) {
  std::vector<WarpAccess> result;
  for (const WarpAccess& access : accesses) {
    if (access.name == name) result.push_back(access);
  }
  return result;
}

TEST_SUITE("access trace") {
  TEST_CASE("each warp's loads and stores, by lane") {
    const auto all = traced("b[2 * t] = a[t + 8];", 64);
    REQUIRE(all.size() == 4);
    for (const std::size_t warp : {0, 1}) {
      const WarpAccess& load = all[2 * warp];
      const WarpAccess& store = all[2 * warp + 1];
      CHECK(load.name == "load A");
      CHECK(store.name == "store B");
      CHECK(load.space == MemorySpace::global);
      CHECK(load.bytes_per_lane == 4);
      REQUIRE(load.offsets.size() == 32);
      REQUIRE(store.offsets.size() == 32);
      for (std::size_t lane = 0; lane < 32; ++lane) {
        CHECK(load.offsets[lane] == static_cast<std::int64_t>(4 * (32 * warp + lane + 8)));
        CHECK(store.offsets[lane] == static_cast<std::int64_t>(8 * (32 * warp + lane)));
      }
    }
  }

  TEST_CASE("lanes that leave a loop early wait for the others behind it") {
    const auto loads = named("load A", traced("float sum = 0;\n"
                                              "for (int i = 0; i < 2; ++i) {\n"
                                              "  for (int j = 0; j <= t % 2; ++j) {\n"
                                              "    if (i == 0 && t < 8) continue;\n"
                                              "    sum += a[64 * i + 32 * j + t];\n"
                                              "  }\n"
                                              "}\n"
                                              "b[t] = sum;"));
    REQUIRE(loads.size() == 4);
    const std::size_t lanes[] = {24, 12, 32, 16};
    for (std::size_t i = 0; i < 4; ++i) {
      CAPTURE(i);
      CHECK(loads[i].offsets.size() == lanes[i]);
      for (const std::int64_t offset : loads[i].offsets) {
        CHECK(offset / (32 * 4) == static_cast<std::int64_t>(i));
      }
    }
  }

  TEST_CASE("functions that are called again meet as well") {
    const auto loads = named("load A", traced("const auto load = [&](int i) {\n"
                                              "  return t < 16 * i ? a[32 * i + t] : 0.0f;\n"
                                              "};\n"
                                              "float sum = 0;\n"
                                              "for (int i = 0; i < 3; ++i) sum += load(i);\n"
                                              "b[t] = sum;"));
    REQUIRE(loads.size() == 2);
    CHECK(loads[0].offsets.size() == 16);
    CHECK(loads[1].offsets.size() == 32);
  }

  TEST_CASE("lanes that call a function of their own are waited for, wherever its code is") {
    for (const char* const function : {"before", "behind"}) {
      CAPTURE(function);
      const auto stores =
          named("store B", traced("const auto before = [](int i) { return i; };\n"
                                  "if (t % 2 == 0) b[32 + " +
                                  std::string(function) + "(t)] = a[t];\nb[t] = 1;"));
      REQUIRE(stores.size() == 2);
      CHECK(stores[0].offsets.size() == 16);
      CHECK(stores[1].offsets.size() == 32);
    }
  }

  TEST_CASE("conflicts of shared memory, with and without padding") {
    const auto conflicts = [](const std::string& pitch) {
      return summarize(traced("__shared__ float tile[32 * " + pitch + "];\n" +  //
                              "for (int i = 0; i < 8; ++i) tile[t * " + pitch +
                              " + 4 * i] = a[t];\n" + "__syncthreads(); b[t] = tile[t * " + pitch +
                              "];"));
    };
    const auto plain = conflicts("32");
    REQUIRE(plain.size() == 4);
    CHECK(plain[1].name == "store tile of A");
    CHECK(plain[1].space == MemorySpace::shared);
    CHECK(plain[1].transactions == 32);
    CHECK(plain[1].least == 1);
    CHECK(plain[2].name == "read tile of A");
    CHECK(plain[2].transactions == 32);
    const auto padded = conflicts("33");
    CHECK(padded[1].transactions == 1);
    CHECK(padded[2].transactions == 1);
  }

  TEST_CASE("what shared memory has besides elements of tensors is left out") {
    const auto all = traced(
        "__shared__ float sums[32];\n"
        "sums[t] = 2 * a[t]; __syncthreads(); b[t] = sums[31 - t];");
    REQUIRE(all.size() == 2);
    CHECK(all[0].name == "load A");
    CHECK(all[1].name == "store B");
  }

  TEST_CASE("a vector is one access") {
    const auto all = traced(
        "struct alignas(16) Vector { float at[4]; };\n"
        "alignas(16) __shared__ float tile[128];\n"
        "const Vector v = reinterpret_cast<const Vector*>(a)[t];\n"
        "reinterpret_cast<Vector*>(tile)[t] = v;\n"
        "b[t] = v.at[0];");
    REQUIRE(all.size() == 3);
    CHECK(all[0].bytes_per_lane == 16);
    CHECK(all[0].offsets[1] == 16);
    CHECK(all[1].name == "store tile of A");
    CHECK(all[1].bytes_per_lane == 16);
    CHECK(all[2].bytes_per_lane == 4);
  }

  TEST_CASE(
      "elements of global memory are one access where the kernel says that they are aligned") {
    const std::string sum =
        "float sum = 0;\nfor (int e = 0; e < 4; ++e) sum += from[e];\nb[t] = sum;";
    const auto single = named("load A", traced("const float* from = a + 4 * t;\n" + sum));
    REQUIRE(single.size() == 4);
    CHECK(single[0].bytes_per_lane == 4);
    const auto together = named("load A", traced("const float* from = static_cast<const float*>(\n"
                                                 "    __builtin_assume_aligned(a + 4 * t, 16));\n" +
                                                 sum));
    REQUIRE(together.size() == 1);
    CHECK(together[0].bytes_per_lane == 16);
  }

  TEST_CASE("an access after a vector's, at the same place, counts") {
    const auto all = traced(
        "alignas(16) __shared__ float tile[128];\n"
        "float* const to = static_cast<float*>(\n"
        "    __builtin_assume_aligned(tile + 4 * t, 16));\n"
        "for (int e = 0; e < 4; ++e) to[e] = a[t];\n"
        "to[1] = a[t + 32];\nb[t] = to[1];");
    const auto stores = named("store tile of A", all);
    REQUIRE(stores.size() == 2);
    CHECK(stores[0].bytes_per_lane == 16);
    CHECK(stores[1].bytes_per_lane == 4);
  }

  TEST_CASE("neighbours in shared memory are read together within a turn of the loop") {
    const auto reads = [](std::int64_t turns) {
      return named("read tile of A",
                   traced("alignas(16) __shared__ float tile[256];\n"
                          "for (int k = 0; k < 8; ++k) tile[k * 32 + t] = a[t];\n"
                          "__syncthreads();\nfloat sum = 0;\n"
                          "for (int k = 0; k < 8; ++k) sum += tile[t * 8 + k];\nb[t] = sum;",
                          32, turns));
    };
    CHECK(reads(1).size() == 2);
    CHECK(reads(1)[0].bytes_per_lane == 16);
    CHECK(reads(4).size() == 4);
    CHECK(reads(4)[0].bytes_per_lane == 8);
    CHECK(reads(8).size() == 8);
    CHECK(reads(8)[0].bytes_per_lane == 4);
  }

  TEST_CASE("a block that waits for ever is an error") {
    CHECK_THROWS_AS(traced("if (t > 0) __syncthreads();"), Error);
  }
}

}  // namespace
}  // namespace autotune
