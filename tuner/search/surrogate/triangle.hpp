// The lower Cholesky factor of a matrix that grows by rows.
#pragma once

#include <cstddef>
#include <vector>

namespace autotune {

class TriangularFactor {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  // Takes a further row of the matrix, size() + 1 long with the diagonal last.
  void append(const std::vector<double>& row);

  // Of the matrix.
  [[nodiscard]] double log_determinant() const;
  // x <- L^-1 x, from x[first] on, for an x whose part before that is solved already. x may be
  // shorter than the factor.
  void solve(std::vector<double>& x, std::size_t first = 0) const;
  // x <- L^-T x.
  void solve_transposed(std::vector<double>& x) const;

 private:
  [[nodiscard]] const double* row(std::size_t i) const { return &packed_[i * (i + 1) / 2]; }

  std::size_t size_ = 0;
  std::vector<double> packed_;  // rows, each up to the diagonal
};

}  // namespace autotune
