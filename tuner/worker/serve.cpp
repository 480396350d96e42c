// The worker's side of the conversation.
#include <cstdio>
#include <cstdlib>

#include "core/error_text.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {

int serve(int fd, WorkerService& service) {
  int fault = EXIT_FAILURE;
  try {
    std::string bytes;
    while (read_message(fd, bytes)) {
      const WorkerRequest request = decode_request(bytes);
      fault = kNoService;
      const WorkerReply reply = service.handle(request);
      fault = EXIT_FAILURE;
      write_message(fd, encode(reply));
      if (is_poisoned(reply)) break;
    }
    return EXIT_SUCCESS;
  } catch (const std::exception& error) {
    // The program reports the last line on standard error as the reason.
    std::fprintf(stderr, "%s\n", error_text(error));
    return fault;
  }
}

}  // namespace autotune
