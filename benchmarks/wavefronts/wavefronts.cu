// Counts the wavefronts that a shared-memory load takes, by what its lanes share. One warp makes
// one load of 4, 8 or 16 bytes a lane for each pattern; ncu counts:
//
//   ncu --csv --metrics l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum wavefronts
//
// "P pattern bytes" is printed for each launch, in their order. The rule in
// base/cpu/access_pattern.cpp was derived from this table, and a test compares the two.
#include <cstdio>
#include <type_traits>

namespace {

template <typename Element>
__global__ void load(const int* offsets, float* sink) {
  __shared__ __align__(16) char memory[40960];
  const unsigned address =
      static_cast<unsigned>(__cvta_generic_to_shared(memory)) + offsets[threadIdx.x];
  float x = 0, y = 0, z = 0, w = 0;
  if constexpr (std::is_same_v<Element, float>) {
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address));
  } else if constexpr (std::is_same_v<Element, float2>) {
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "r"(address));
  } else {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
                 : "r"(address));
  }
  sink[threadIdx.x] = x + y + z + w;
}

// The element that lane l wants.
struct Pattern {
  const char* name;
  int (*element)(int l);
};

int halves(int l) {
  constexpr int kOrder[16] = {0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15};
  return kOrder[l % 16];
}

constexpr Pattern kPatterns[] = {
    {"l", [](int l) { return l; }},
    {"same", [](int) { return 0; }},
    {"l%16", [](int l) { return l % 16; }},
    {"l%8", [](int l) { return l % 8; }},
    {"l%4", [](int l) { return l % 4; }},
    {"l%2", [](int l) { return l % 2; }},
    {"l/2", [](int l) { return l / 2; }},
    {"l/4", [](int l) { return l / 4; }},
    {"l/8", [](int l) { return l / 8; }},
    {"l/16", [](int l) { return l / 16; }},
    {"2l", [](int l) { return 2 * l; }},
    {"4l", [](int l) { return 4 * l; }},
    {"perm16", [](int l) { return halves(l) + l / 16 * 16; }},
    {"perm16 dup", [](int l) { return halves(l); }},
    {"perm32", [](int l) { return l % 2 * 16 + l / 2; }},
    {"l%16+l/16*32", [](int l) { return l % 16 + l / 16 * 32; }},
    {"l%8+l/8*32", [](int l) { return l % 8 + l / 8 * 32; }},
    {"l%8+l/16*8", [](int l) { return l % 8 + l / 16 * 8; }},
    {"l%4+l/16*4", [](int l) { return l % 4 + l / 16 * 4; }},
    {"l%2+l/4*2", [](int l) { return l % 2 + l / 4 * 2; }},
    {"l%2+l/16*2", [](int l) { return l % 2 + l / 16 * 2; }},
    {"l/8*8", [](int l) { return l / 8 * 8; }},
    {"l/8*32", [](int l) { return l / 8 * 32; }},
    {"l/16*32", [](int l) { return l / 16 * 32; }},
    {"l/4*8", [](int l) { return l / 4 * 8; }},
    {"l%4*8", [](int l) { return l % 4 * 8; }},
    {"l%8*8", [](int l) { return l % 8 * 8; }},
    {"l/2%8", [](int l) { return l / 2 % 8; }},
    {"(l/2)%8+l/16*8", [](int l) { return l / 2 % 8 + l / 16 * 8; }},
    {"l/8*8+l%2", [](int l) { return l / 8 * 8 + l % 2; }},
    {"rev", [](int l) { return 31 - l; }},
};

template <typename Element>
void run(const Pattern& pattern, int* offsets, float* sink) {
  int wanted[32];
  for (int lane = 0; lane < 32; ++lane) {
    wanted[lane] = pattern.element(lane) * static_cast<int>(sizeof(Element));
  }
  cudaMemcpy(offsets, wanted, sizeof wanted, cudaMemcpyHostToDevice);
  std::printf("P %s %d\n", pattern.name, static_cast<int>(sizeof(Element)));
  load<Element><<<1, 32>>>(offsets, sink);
}

}  // namespace

int main() {
  int* offsets = nullptr;
  float* sink = nullptr;
  cudaMalloc(&offsets, 32 * sizeof(int));
  cudaMalloc(&sink, 32 * sizeof(float));
  for (const Pattern& pattern : kPatterns) {
    run<float>(pattern, offsets, sink);
    run<float2>(pattern, offsets, sink);
    run<float4>(pattern, offsets, sink);
  }
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) std::fprintf(stderr, "wavefronts: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
