#include "tuner/tuner.hpp"
