// The arguments of a product: matrices in memory, factors, and where the work is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "autotune/element_type.hpp"
#include "autotune/export.hpp"
#include "autotune/pointer_mode.hpp"

struct CUstream_st;  // what cudaStream_t and CUstream point to

namespace autotune {

struct PreparedOperand;  // the inside of a PreparedMatrix

using Stream = CUstream_st*;  // nullptr: the default stream

// An operand as a kernel prepares it before it multiplies, kept for many products: the emulated
// kernels split A and B into planes of FP16. A value that is cheap to copy, and that any thread may
// use. It refers to the matrix that it was made of: that must stay in its place, and must not
// change, as long as products are given this. It keeps its memory on the device, and its Library's
// inside, alive; work that uses it must be done with before its last copy is destroyed.
class AUTOTUNE_API PreparedMatrix {
 public:
  // Nothing is prepared.
  PreparedMatrix() = default;
  explicit PreparedMatrix(std::shared_ptr<const PreparedOperand> prepared);

  // Bytes of the device's memory. 0 where the kernel works on the operand itself.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] const PreparedOperand* operand() const { return operand_.get(); }

 private:
  std::shared_ptr<const PreparedOperand> operand_;
};

// Which operand.
enum class Operand : std::uint8_t { a = 0, b = 1 };

// A matrix in memory, or the matrices of a batch: A or B. On a GPU the address is one of the
// device. {data, ld, stride} with a const float* is one of FP32; {data, type, ld, stride} has
// another type.
struct Matrix {
  const void* data = nullptr;  // a multiple of the element's size
  // Elements from the beginning of one row to that of the next; of one column, in column-major
  // order. 0: there is nothing between them.
  std::int64_t ld = 0;
  // Elements from the beginning of one product's matrix to that of the next, in a batch of several.
  // 0: all products have the same matrix.
  std::int64_t stride = 0;
  // The result of prepare_operand() for this matrix, or nullptr. Kernels that have no use for it
  // multiply as they do without.
  const PreparedMatrix* prepared = nullptr;
  ElementType type = ElementType::f32;  // as GemmProblem::types has it

  Matrix() = default;
  Matrix(const float* at,
         std::int64_t from_line_to_line = 0,  // NOLINT(google-explicit-constructor)
         std::int64_t from_matrix_to_matrix = 0, const PreparedMatrix* as_prepared = nullptr)
      : Matrix(at, ElementType::f32, from_line_to_line, from_matrix_to_matrix, as_prepared) {}
  Matrix(const void* at, ElementType of, std::int64_t from_line_to_line = 0,
         std::int64_t from_matrix_to_matrix = 0, const PreparedMatrix* as_prepared = nullptr)
      : data(at),
        ld(from_line_to_line),
        stride(from_matrix_to_matrix),
        prepared(as_prepared),
        type(of) {}
};

// The same for C, whose matrices must not overlap: in a batch of several, stride is not 0.
struct MutableMatrix {
  void* data = nullptr;
  std::int64_t ld = 0;
  std::int64_t stride = 0;
  ElementType type = ElementType::f32;

  MutableMatrix() = default;
  MutableMatrix(float* at,  // NOLINT(google-explicit-constructor)
                std::int64_t from_line_to_line = 0, std::int64_t from_matrix_to_matrix = 0)
      : MutableMatrix(at, ElementType::f32, from_line_to_line, from_matrix_to_matrix) {}
  MutableMatrix(void* at, ElementType of, std::int64_t from_line_to_line = 0,
                std::int64_t from_matrix_to_matrix = 0)
      : data(at), ld(from_line_to_line), stride(from_matrix_to_matrix), type(of) {}
};

// Memory of the device for blocks that share the work of a result, and for the planes that kernels
// of emulated and TF32 products split A and B into. A multiple of 256 bytes as address. Its first
// kWorkspaceZeroBytes are zero before the first call that uses it, and each call leaves them so.
// Calls that may run at the same time need memory of their own.
struct Workspace {
  void* data = nullptr;
  std::size_t bytes = 0;
  // False: those bytes may be anything, as in memory that others use in between, and the call sets
  // them to zero on its stream first, which may be captured like its kernel.
  bool zeroed = true;
};
inline constexpr std::size_t kWorkspaceZeroBytes = 262144;

// Knowledge of the operands' places in memory.
enum class Alignment : std::uint8_t {
  any = 0,
  // All addresses, all lds, given or packed, and all strides of a batch are multiples of 16 bytes;
  // lds and strides are less than 2^40 bytes.
  of_16_bytes = 1,
};

// The arguments of Library::gemm(), Library::try_gemm() and Plan.
struct GemmArguments {
  float alpha = 1;
  Matrix a = {};
  Matrix b = {};
  float beta = 0;
  // Also the result, where there is no d.
  MutableMatrix c = {};
  Stream stream = nullptr;
  // For gemm(): empty, or memory in place of that which it keeps for each stream. For a Plan:
  // Plan::workspace_bytes() at least.
  Workspace workspace = {};
  // The addresses of alpha and beta in the device's memory, both or neither, in place of the values
  // above: PointerMode::device. They are read when the product runs, and are no elements of its
  // result. Such calls have kernels of their own, in the configurations of the others, so that the
  // first one is cold too.
  const float* alpha_ptr = nullptr;
  const float* beta_ptr = nullptr;
  // D = alpha * op(A) * op(B) + beta * C: the result, of C's type, instead of C, which is only read
  // then. D is C itself, at the same address with the same ld and stride, or overlaps none of A, B
  // and C. Where beta may be other than 0, C is copied to D first.
  MutableMatrix d = {};
};

}  // namespace autotune
