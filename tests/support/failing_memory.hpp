// Counts the allocations of a test's program and lets them fail: those with new, and those of
// SQLite.
#pragma once

#include <functional>

namespace autotune::test {

// Runs `work` in this process and returns the number of its allocations.
long count_allocations(const std::function<void()>& work);

// Runs `work` in a child process for each of its allocations, which then fails, and calls `check`
// after each run. `work` may throw std::bad_alloc, or an Error of one line; another exception fails
// the test. If there are more allocations than AUTOTUNE_TEST_ALLOCATIONS (100), as many of them
// fail, evenly spread. The first two runs have all the memory that they ask for: what is allocated
// once in a program does not count.
//
// A child may also end by std::terminate(), since the JSON library allocates in its destructor. No
// more than a fifth may.
void fail_each_allocation(const std::function<void()>& work, const std::function<void()>& check);

}  // namespace autotune::test
