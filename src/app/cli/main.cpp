#include "cli/program.hpp"

int main(int argc, char** argv) {
  return autotune::run_program(argc, argv);
}
