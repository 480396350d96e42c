// The worker's side of the conversation, and the worker without a process.
#include <array>
#include <thread>

#include <doctest/doctest.h>
#include <sys/socket.h>

#include "autotune/error.hpp"

#include "core/posix/file_descriptor.hpp"
#include "tuner/worker/worker.hpp"

namespace autotune {
namespace {

// Measures a seed of 13 as poison; has no device for calibrating.
class SmallService : public WorkerService {
 public:
  WorkerReply handle(const WorkerRequest& request) override {
    if (const auto* measure = std::get_if<MeasureRequest>(&request)) {
      MeasureReply reply;
      reply.detail = measure->kernel_name;
      reply.poisoned = measure->seed == 13;
      return reply;
    }
    throw EnvironmentError("no device here");
  }
};

// serve() in a thread, spoken to over a socket.
class Server {
 public:
  Server() {
    std::array<int, 2> fds{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
    socket = FileDescriptor(fds[0]);
    thread_ = std::thread([this, theirs = FileDescriptor(fds[1])] {
      SmallService service;
      exit_code_ = serve(theirs.get(), service);
    });
  }
  ~Server() {
    if (thread_.joinable()) exit_code();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Closes the socket and waits for the end.
  int exit_code() {
    ::shutdown(socket.get(), SHUT_RDWR);
    return wait();
  }
  int wait() {
    thread_.join();
    return exit_code_;
  }

  FileDescriptor socket;

 private:
  int exit_code_ = -1;
  std::thread thread_;
};

WorkerReply ask(const Server& server, const WorkerRequest& request) {
  write_message(server.socket.get(), encode(request));
  std::string bytes;
  REQUIRE(read_message(server.socket.get(), bytes));
  return decode_reply(bytes);
}

TEST_SUITE("serve") {
  TEST_CASE("answers until the other side closes") {
    Server server;
    for (const char* name : {"first", "second"}) {
      const WorkerReply reply = ask(server, MeasureRequest{.kernel_name = name});
      CHECK(std::get<MeasureReply>(reply).detail == name);
    }
    CHECK(server.exit_code() == 0);
  }

  TEST_CASE("ends by itself after a poisoned reply") {
    Server server;
    CHECK(std::get<MeasureReply>(ask(server, MeasureRequest{.seed = 13})).poisoned);
    CHECK(server.wait() == 0);
  }

  TEST_CASE("a fault of the environment ends it with a code of its own") {
    Server server;
    write_message(server.socket.get(), encode(WorkerRequest(CalibrateRequest{})));
    CHECK(server.wait() == kNoService);
  }

  TEST_CASE("a message that is none ends it with code 1") {
    Server server;
    write_message(server.socket.get(), "nonsense");
    CHECK(server.wait() == 1);
  }
}

TEST_SUITE("InProcessWorker") {
  constexpr std::chrono::seconds kTimeout(1);

  TEST_CASE("passes requests on") {
    const auto worker = make_in_process_worker(std::make_unique<SmallService>());
    const auto outcome = worker->call(MeasureRequest{.kernel_name = "k"}, kTimeout);
    CHECK(std::get<MeasureReply>(std::get<WorkerReply>(outcome)).detail == "k");
  }

  TEST_CASE("a fault is a failure with its reason as from a process") {
    const auto worker = make_in_process_worker(std::make_unique<SmallService>());
    const auto outcome = worker->call(CalibrateRequest{}, kTimeout);
    CHECK(std::get<WorkerFailure>(outcome).kind == WorkerFailure::Kind::no_service);
    CHECK(std::get<WorkerFailure>(outcome).reason == "no device here");
    CHECK(std::holds_alternative<WorkerReply>(worker->call(MeasureRequest{}, kTimeout)));
  }

  TEST_CASE("answers nothing more after a poisoned reply") {
    const auto worker = make_in_process_worker(std::make_unique<SmallService>());
    const auto outcome = worker->call(MeasureRequest{.seed = 13}, kTimeout);
    CHECK(std::get<MeasureReply>(std::get<WorkerReply>(outcome)).poisoned);
    CHECK(std::holds_alternative<WorkerFailure>(worker->call(MeasureRequest{}, kTimeout)));
  }
}

}  // namespace
}  // namespace autotune
