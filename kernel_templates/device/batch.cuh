// Strided batches: one launch computes many products of the same sizes. The tiles of all products
// are numbered product by product. Code for one product alone (BATCHED == 0) has none of this: all
// below are constants there.
#pragma once

// 1: the kernel computes a batch, and has BATCH_PARAMETERS behind its other parameters.
#ifndef BATCHED
#define BATCHED 0
#endif

// batch: products. stride_a, stride_b, stride_c: elements from one product's matrix to that of the
// next; 0 where all products have the same A or B.
#if BATCHED
#define BATCH_PARAMETERS \
  , long long batch, long long stride_a, long long stride_b, long long stride_c
#define BATCH_ARGUMENTS batch, stride_a, stride_b, stride_c
#else
#define BATCH_PARAMETERS
#define BATCH_ARGUMENTS 1, 0, 0, 0
#endif

namespace autotune_device {

// The products of a launch, each with the same number of tiles. Where a grid's x is too short for
// the tiles of all products, each row of the grid (blockIdx.y) has the tiles of equally many
// products; the last row then has tiles of products that do not exist.
struct ProductBatch {
  long long count, stride_a, stride_b, stride_c;
  unsigned tiles;  // of one product

  __device__ __forceinline__ unsigned of_row() const {  // products
    return (static_cast<unsigned>(count) - 1) / gridDim.y + 1;
  }
  // Returns the tiles that the blocks of a row of the grid share among them. `all`: of one product,
  // in the type in which the kernel counts.
  template <typename Count>
  __device__ __forceinline__ Count tiles_of_row(Count all) const {
    return BATCHED ? all * of_row() : all;
  }
  // Returns the product of a tile, and the tile's number in that product.
  __device__ __forceinline__ unsigned product(unsigned tile) const {
    return BATCHED ? blockIdx.y * of_row() + tile / tiles : 0;
  }
  __device__ __forceinline__ unsigned in_product(unsigned tile) const {
    return BATCHED ? tile % tiles : tile;
  }
  __device__ __forceinline__ bool has(unsigned product) const {
    return !BATCHED || product < static_cast<unsigned>(count);
  }

  // Return the number of a product's matrix among those that a tensor map has.
  __device__ __forceinline__ int in_map_a(unsigned product) const {
    return stride_a == 0 ? 0 : static_cast<int>(product);
  }
  __device__ __forceinline__ int in_map_b(unsigned product) const {
    return stride_b == 0 ? 0 : static_cast<int>(product);
  }
  // Return a product's matrix, given that of the first product.
  template <typename T>
  __device__ __forceinline__ const T* a(const T* first, unsigned product) const {
    return BATCHED ? first + product * stride_a : first;
  }
  template <typename T>
  __device__ __forceinline__ const T* b(const T* first, unsigned product) const {
    return BATCHED ? first + product * stride_b : first;
  }
  template <typename T>
  __device__ __forceinline__ T* c(T* first, unsigned product) const {
    return BATCHED ? first + product * stride_c : first;
  }
};

}  // namespace autotune_device
