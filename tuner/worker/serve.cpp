// The worker's side of the conversation.
#include <cstdio>

#include "autotune/error.hpp"

#include "core/error_text.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

int serve(int fd, WorkerService& service) {
  try {
    std::string bytes;
    while (read_message(fd, bytes)) {
      const WorkerReply reply = service.handle(decode_request(bytes));
      write_message(fd, encode(reply));
      if (is_poisoned(reply)) return 0;
    }
    return 0;
  } catch (const std::exception& error) {
    // The program reports the last line on standard error as the reason.
    std::fprintf(stderr, "%s\n", error_text(error));
    return 1;
  }
}

}  // namespace autotune
