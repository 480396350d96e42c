#include "gemm/lookup.hpp"
