// Threads that work for nobody who waits.
#pragma once

namespace autotune {

// Gives the calling thread, and the threads and processes that it starts from then on, a low
// priority, and blocks all signals in them, so that an application's handlers run in its own
// threads.
void be_a_quiet_thread() noexcept;

}  // namespace autotune
