// The hidden command that tuning starts for each worker process.
#pragma once

namespace autotune {

// `autotune worker --device N --parent PID --fd N`: answers requests on the descriptor until the
// other side closes it. Returns the process's exit code.
int run_worker_command(int argc, char** argv);

}  // namespace autotune
