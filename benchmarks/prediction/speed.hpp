// The processor time of a prediction.
#pragma once

#include "autotune/problem.hpp"

#include "select/portfolio.hpp"

namespace autotune {

// Prints the processor time that predict() takes for a new shape on the device of the shipped
// portfolio of a math: the mean over 64 random shapes, in the fastest of 60 rounds. Needs no GPU.
// Throws Error where no portfolio ships for the math.
void print_prediction_speed(const ShippedPortfolios& shipped, Math math);

}  // namespace autotune
