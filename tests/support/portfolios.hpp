// The portfolios that ship, of the built-in kernels.
#pragma once

#include "select/portfolio.hpp"

namespace autotune::test {

inline const ShippedPortfolios& built_in_portfolios() {
  static const ShippedPortfolios portfolios(built_in_kernels());
  return portfolios;
}

}  // namespace autotune::test
