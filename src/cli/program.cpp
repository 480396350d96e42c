#include "cli/program.hpp"
