#include "gpu/gpu.hpp"
