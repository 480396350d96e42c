// A worker program that misbehaves as it is told to, for the tests of process workers.
//
// AUTOTUNE_TEST_SCRIPT is "MESSAGE MOMENT ACTION": at its MESSAGE-th request (1 is the first), at a
// MOMENT (before: before it reads; after: when it has read; inside: in the middle of the reply;
// idle: when it has replied), this process does ACTION; it answers everything else.
// "scripted_worker parent" is a program with such a worker, to be killed while the worker is busy.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/posix/spawn.hpp"
#include "tuner/worker/child_process.hpp"
#include "tuner/worker/worker.hpp"

namespace {

using namespace autotune;

int option(int argc, char** argv, const std::string& name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (name == argv[i]) return std::atoi(argv[i + 1]);
  }
  std::fprintf(stderr, "%s is missing\n", name.c_str());
  std::exit(2);
}

[[noreturn]] void sleep_for_ever() {
  while (true) ::pause();
}

[[noreturn]] void die_by(int signal) {
  std::signal(signal, SIG_DFL);  // sanitizers have handlers of their own
  std::raise(signal);
  sleep_for_ever();
}

// A program that ends long after the worker, and by itself: a test that waits for it then fails.
void start_sleeper() {
  pid_t process = 0;
  static_cast<void>(spawn({"/bin/sleep", "300"}, {.descriptors = {-1, -1, -1}}, process));
}

void act(const std::string& action, int fd) {
  if (const std::string prefix = "start-and-"; action.starts_with(prefix)) {
    start_sleeper();
    act(action.substr(prefix.size()), fd);
  }
  if (action == "segv") die_by(SIGSEGV);
  if (action == "abort") {
    std::fprintf(stderr, "first line\nout of luck\n\n");
    die_by(SIGABRT);
  }
  if (action == "exit") ::_exit(3);
  if (action == "leave") {  // a process that keeps the socket open
    if (::fork() == 0) sleep_for_ever();
    ::_exit(3);
  }
  if (action == "give-up") ::_exit(kNoService);
  if (action == "hog") {
    // The memory is touched, so that it counts.
    while (void* block = std::malloc(1 << 20)) std::memset(block, 1, 1 << 20);
    die_by(SIGABRT);
  }
  if (action == "kill") die_by(SIGKILL);
  if (action == "hang") sleep_for_ever();
  if (action == "stubborn") {  // only SIGKILL ends it
    for (int signal = 1; signal < NSIG; ++signal) std::signal(signal, SIG_IGN);
    sleep_for_ever();
  }
  if (action == "close") {
    ::shutdown(fd, SHUT_RDWR);
    sleep_for_ever();
  }
  if (action == "flood") {
    const std::string line(1023, 'x');
    for (int i = 0; i < 10'000; ++i) std::fprintf(stderr, "%s\n", line.c_str());
  }
  if (action == "speak") std::fprintf(stderr, "a warning\n");
  if (action == "interrupt") ::kill(::getpid(), SIGINT);
  if (action == "confuse") write_message(fd, encode(WorkerReply(CalibrateReply{1, 1, ""})));
  if (action == "garbage") {
    write_message(fd, "no CBOR");
    sleep_for_ever();
  }
}

// The reply to a measuring request has numbers that show the test that the request arrived whole; a
// seed of 13 means poison. The reply to a compile request describes the process: its descriptors
// and its number.
WorkerReply answer(const WorkerRequest& request) {
  if (std::holds_alternative<DescribeCompilerRequest>(request)) {
    return DescribeCompilerReply{"1.2.3", "nowhere", {"sm_90"}, ""};
  }
  if (std::holds_alternative<CalibrateRequest>(request)) return CalibrateReply{1000, 500, ""};
  if (const auto* measure = std::get_if<MeasureRequest>(&request)) {
    MeasureReply reply;
    reply.measurement.median_us = 1 + static_cast<double>(measure->cubin.size());
    reply.measurement.samples_us = {reply.measurement.median_us};
    reply.poisoned = measure->seed == 13;
    return reply;
  }
  CompileReply reply{.ok = true, .cubin = std::to_string(::getpid()), .log = {}, .resources = {}};
  for (int fd = 0; fd < 1024; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) reply.log += std::to_string(fd) + " ";
  }
  return reply;
}

// write_message by hand, with a pause for the action in the middle.
void write_in_halves(int fd, const std::string& bytes, const std::string& action) {
  std::string framed;
  for (int shift = 0; shift < 32; shift += 8) {
    framed += static_cast<char>(bytes.size() >> shift & 0xff);
  }
  framed += bytes;
  const std::size_t half = framed.size() / 2;
  if (::send(fd, framed.data(), half, MSG_NOSIGNAL) < 0) return;
  act(action, fd);
  if (::send(fd, framed.data() + half, framed.size() - half, MSG_NOSIGNAL) < 0) return;
}

int run_worker(int fd) {
  int message = 1;
  std::string moment, action;
  if (const char* script = std::getenv("AUTOTUNE_TEST_SCRIPT")) {
    std::istringstream(script) >> message >> moment >> action;
  }
  for (int n = 1;; ++n) {
    const bool now = n == message;
    if (now && moment == "before") act(action, fd);
    std::string bytes;
    if (!read_message(fd, bytes)) return 0;
    if (now && moment == "after") act(action, fd);
    const WorkerReply reply = answer(decode_request(bytes));
    if (now && moment == "inside") {
      write_in_halves(fd, encode(reply), action);
    } else {
      write_message(fd, encode(reply));
    }
    if (now && moment == "idle") act(action, fd);
    if (is_poisoned(reply)) return 0;
  }
}

// Tells the number of its worker, and waits to be killed.
[[noreturn]] void run_parent(int fd) {
  const auto worker = make_process_worker(own_program_path(), 0);
  const auto reply = std::get<WorkerReply>(worker->call(CompileRequest{}, std::chrono::minutes(1)));
  write_message(fd, std::get<CompileReply>(reply).cubin);
  sleep_for_ever();
}

}  // namespace

int main(int argc, char** argv) {
  const int fd = option(argc, argv, "--fd");
  if (std::strcmp(argv[1], "parent") == 0) run_parent(fd);
  if (!enter_worker_process(option(argc, argv, "--parent"))) return 0;
  if (const int mib = option(argc, argv, "--memory-mib")) limit_memory(std::int64_t{mib} << 20);
  return run_worker(fd);
}
