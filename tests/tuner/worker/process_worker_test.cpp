// Workers in processes of their own, against a program that crashes, hangs and lies on command
// (tests/tuner/program/scripted_worker.cpp).
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "autotune/error.hpp"

#include "tuner/worker/child_process.hpp"
#include "tuner/worker/worker.hpp"

namespace {

// A driver stuck in the kernel: no process that was killed ever ends.
std::atomic<bool> nothing_ends = false;
// A child ends just after it was seen running.
std::atomic<bool> ends_unseen = false;

}  // namespace

// These two stand in for the C library's.
extern "C" int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if (ends_unseen.exchange(false)) {
    siginfo_t unseen{};
    return static_cast<int>(::syscall(SYS_waitid, type, id, &unseen, WEXITED | WNOWAIT, nullptr));
  }
  return static_cast<int>(::syscall(SYS_waitid, type, id, info, options, nullptr));
}

extern "C" pid_t wait4(pid_t pid, int* status, int options, rusage* usage) noexcept {
  if (nothing_ends) return 0;
  return static_cast<pid_t>(::syscall(SYS_wait4, pid, status, options, usage));
}

namespace autotune {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::minutes kPlenty(2);
constexpr milliseconds kShort(100);

// For as long as it lives, workers that are started follow this script.
class ScriptGuard {
 public:
  explicit ScriptGuard(const std::string& script) {
    ::setenv("AUTOTUNE_TEST_SCRIPT", script.c_str(), 1);
  }
  ~ScriptGuard() { ::unsetenv("AUTOTUNE_TEST_SCRIPT"); }
};

std::unique_ptr<Worker> make_worker() {
  return make_process_worker(AUTOTUNE_SCRIPTED_WORKER, 0);
}

const std::array<WorkerRequest, 4> kEveryRequest = {DescribeCompilerRequest{}, CompileRequest{},
                                                    MeasureRequest{}, CalibrateRequest{}};

WorkerFailure failure_of(Worker& worker, const WorkerRequest& request, CallLimit limit) {
  const WorkerOutcome outcome = worker.call(request, limit);
  REQUIRE(std::holds_alternative<WorkerFailure>(outcome));
  return std::get<WorkerFailure>(outcome);
}

// The process number of a worker, by asking it.
int pid_of(Worker& worker) {
  const auto reply = std::get<WorkerReply>(worker.call(CompileRequest{}, kPlenty));
  return std::stoi(std::get<CompileReply>(reply).cubin);
}

bool answers(Worker& worker, const WorkerRequest& request) {
  const WorkerOutcome outcome = worker.call(request, kPlenty);
  const auto* reply = std::get_if<WorkerReply>(&outcome);
  return reply != nullptr && reply->index() == request.index();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int count_descriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += ::fcntl(fd, F_GETFD) >= 0;
  return count;
}

// Running or waiting to be reaped.
bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST_SUITE("ProcessWorker") {
  TEST_CASE("answers every kind of request in one process") {
    const auto worker = make_worker();
    const int pid = pid_of(*worker);
    CHECK(pid != ::getpid());
    for (const WorkerRequest& request : kEveryRequest) CHECK(answers(*worker, request));
    CHECK(pid_of(*worker) == pid);
  }

  TEST_CASE("carries cubins of any size") {
    const auto worker = make_worker();
    MeasureRequest request;
    request.cubin.assign(4 << 20, '\xff');
    const auto reply = std::get<WorkerReply>(worker->call(request, kPlenty));
    CHECK(std::get<MeasureReply>(reply).measurement.median_us == 1 + (4 << 20));
  }

  TEST_CASE("a program that is not there is an error that names it") {
    const auto worker = make_process_worker("/nowhere/autotune", 0);
    const int before = count_descriptors();
    for (int i = 0; i < 3; ++i) {
      try {
        static_cast<void>(worker->call(CalibrateRequest{}, kPlenty));
        FAIL("started");
      } catch (const Error& error) {
        CHECK(has(error.what(), "/nowhere/autotune"));
      }
    }
    CHECK(count_descriptors() == before);
  }

  TEST_CASE("a limit that keeps a worker from starting is named") {
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small = {1000, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto xfsz = std::signal(SIGXFSZ, SIG_IGN);
    CHECK_THROWS_WITH_AS(static_cast<void>(make_worker()->call(CalibrateRequest{}, kPlenty)),
                         "cannot start a worker: ftruncate: File too large (see ulimit -f)",
                         EnvironmentError);
    std::signal(SIGXFSZ, xfsz);
    ::setrlimit(RLIMIT_FSIZE, &before);
  }

  TEST_CASE("a worker that dies at any moment of any message is replaced") {
    struct Death {
      const char* action;
      const char* reason;
    };
    const Death deaths[] = {{"segv", "killed by signal 11 (SIGSEGV)"},
                            {"abort", "killed by signal 6 (SIGABRT): out of luck"},
                            {"exit", "exited with code 3"},
                            {"kill", "killed by signal 9 (SIGKILL)"}};
    for (const WorkerRequest& request : kEveryRequest) {
      for (const std::string moment : {"before", "after", "inside"}) {
        for (const Death& death : deaths) {
          CAPTURE(request.index());
          CAPTURE(moment);
          CAPTURE(death.action);
          const auto worker = make_worker();
          {
            const ScriptGuard script("1 " + moment + " " + death.action);
            const WorkerFailure failure = failure_of(*worker, request, kPlenty);
            CHECK(failure.kind == WorkerFailure::Kind::died);
            CHECK_MESSAGE(has(failure.reason, death.reason), failure.reason);
          }
          CHECK(answers(*worker, request));
        }
      }
    }
    CHECK_FALSE(has_children());
  }

  TEST_CASE("a worker whose service has failed is told from one that died of its request") {
    const auto worker = make_worker();
    {
      const ScriptGuard script("1 after give-up");
      CHECK(failure_of(*worker, MeasureRequest{}, kPlenty).kind == WorkerFailure::Kind::no_service);
    }
    CHECK(answers(*worker, MeasureRequest{}));
  }

  TEST_CASE("a worker that something else kills is replaced and asked again") {
    for (const WorkerRequest& request : kEveryRequest) {
      for (const std::string moment : {"after", "inside"}) {
        CAPTURE(request.index());
        CAPTURE(moment);
        const auto worker = make_worker();
        {
          const ScriptGuard script("2 " + moment + " kill");
          pid_of(*worker);
        }
        CHECK(answers(*worker, request));
      }
    }
  }

  TEST_CASE("the replacement of a worker that something else kills ends with the call's time") {
    const auto worker = make_worker();
    {
      const ScriptGuard script("2 after kill");
      pid_of(*worker);
    }
    const ScriptGuard script("1 after hang");
    const auto end = CallLimit::Clock::now() + std::chrono::seconds(1);
    const WorkerFailure failure = failure_of(*worker, CalibrateRequest{}, {kPlenty, end});
    CHECK(failure.kind == WorkerFailure::Kind::timed_out);  // and not the death of the first
    int waited_ms = -1;
    REQUIRE(std::sscanf(failure.reason.c_str(), "no answer within %d ms, killed", &waited_ms) == 1);
    CHECK(waited_ms >= 0);
    CHECK(waited_ms <= 1000);
  }

  TEST_CASE("a worker that hangs at any moment of any message is killed and replaced") {
    for (const WorkerRequest& request : kEveryRequest) {
      for (const std::string moment : {"before", "after", "inside"}) {
        CAPTURE(request.index());
        CAPTURE(moment);
        const auto worker = make_worker();
        {
          const ScriptGuard script("1 " + moment + " hang");
          const WorkerFailure failure = failure_of(*worker, request, kShort);
          CHECK(failure.kind == WorkerFailure::Kind::timed_out);
          CHECK(failure.reason == "no answer within 100 ms, killed");
          CHECK_FALSE(failure.left_running);
        }
        CHECK(answers(*worker, request));
      }
    }
    CHECK_FALSE(has_children());
  }

  TEST_CASE("a worker has ended when its process has, though another one has its socket") {
    for (const std::string moment : {"before", "after", "inside"}) {
      CAPTURE(moment);
      const ScriptGuard script("1 " + moment + " leave");
      const auto worker = make_worker();
      const WorkerFailure failure = failure_of(*worker, MeasureRequest{}, kPlenty);
      CHECK(failure.kind == WorkerFailure::Kind::died);
      CHECK(failure.reason.ends_with("exited with code 3"));
    }
    const auto worker = make_worker();
    {
      const ScriptGuard script("1 idle leave");
      const int pid = pid_of(*worker);
      siginfo_t info{};
      REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
    }
    CHECK(answers(*worker, MeasureRequest{}));
  }

  TEST_CASE("a worker that ignores all signals is killed as well") {
    const ScriptGuard script("1 after stubborn");
    const auto worker = make_worker();
    CHECK(failure_of(*worker, CalibrateRequest{}, kShort).reason ==
          "no answer within 100 ms, killed");
  }

  TEST_CASE("a call that is interrupted fails long before its deadline") {
    const ScriptGuard script("1 before hang");
    const auto worker = make_worker();
    std::optional<WorkerOutcome> outcome;
    {
      const std::jthread caller(
          [&] { outcome = worker->call(CompileRequest{}, std::chrono::hours(1)); });
      while (!has_children()) std::this_thread::yield();
      worker->interrupt();
    }
    REQUIRE(outcome);
    REQUIRE(std::holds_alternative<WorkerFailure>(*outcome));
    CHECK(has(std::get<WorkerFailure>(*outcome).reason, "killed"));  // while it writes, or later
    CHECK_FALSE(has_children());
    CHECK_THROWS_AS(static_cast<void>(worker->call(CompileRequest{}, kPlenty)), Error);
  }

  TEST_CASE("a request that the worker does not take in ends at the deadline") {
    const ScriptGuard script("1 before hang");
    const auto worker = make_worker();
    CompileRequest request;
    request.source.assign(8 << 20, ' ');
    CHECK(failure_of(*worker, request, kShort).kind == WorkerFailure::Kind::timed_out);
  }

  TEST_CASE("the process lives on after good answers and dies at a later one") {
    const ScriptGuard script("3 after segv");
    const auto worker = make_worker();
    const int pid = pid_of(*worker);
    CHECK(pid_of(*worker) == pid);
    CHECK(has(failure_of(*worker, CompileRequest{}, kPlenty).reason, "SIGSEGV"));
    CHECK(pid_of(*worker) != pid);
  }

  TEST_CASE("a worker gets no more memory than it may have, and its end says so") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    std::printf("SKIPPED: sanitizers need more address space\n");
    return;
#endif
    const ScriptGuard script("1 after hog");
    const auto worker = make_process_worker(AUTOTUNE_SCRIPTED_WORKER, 0, 64 << 20);
    const WorkerFailure failure = failure_of(*worker, CompileRequest{}, kPlenty);
    CHECK(failure.kind == WorkerFailure::Kind::died);
    CHECK_MESSAGE(has(failure.reason, "(SIGABRT)"), failure.reason);
    CHECK_MESSAGE(has(failure.reason, "(out of memory: it had "), failure.reason);
    CHECK_MESSAGE(has(failure.reason, " MiB of 64 at most)"), failure.reason);
  }

  TEST_CASE("a worker that dies with memory to spare is not said to lack any") {
    const ScriptGuard script("1 after segv");
    const auto worker = make_process_worker(AUTOTUNE_SCRIPTED_WORKER, 0, 1 << 30);
    CHECK_FALSE(has(failure_of(*worker, CompileRequest{}, kPlenty).reason, "memory"));
  }

  TEST_CASE("a worker that closes its end is replaced") {
    for (const std::string moment : {"before", "after", "inside"}) {
      CAPTURE(moment);
      const ScriptGuard script("1 " + moment + " close");
      const auto worker = make_worker();
      const WorkerFailure failure = failure_of(*worker, MeasureRequest{}, kPlenty);
      CHECK(failure.kind == WorkerFailure::Kind::died);
      CHECK_MESSAGE(has(failure.reason, "killed"), failure.reason);
    }
  }

  TEST_CASE("a reply that is not a message is a failure") {
    const ScriptGuard script("1 after garbage");
    const auto worker = make_worker();
    const WorkerFailure failure = failure_of(*worker, MeasureRequest{}, kPlenty);
    CHECK(failure.kind == WorkerFailure::Kind::died);
    CHECK_MESSAGE(has(failure.reason, "malformed"), failure.reason);
  }

  TEST_CASE("an answer to another question is a failure") {
    const ScriptGuard script("1 after confuse");
    const auto worker = make_worker();
    const WorkerFailure failure = failure_of(*worker, MeasureRequest{}, kPlenty);
    CHECK(failure.kind == WorkerFailure::Kind::died);
    CHECK_MESSAGE(has(failure.reason, "another question"), failure.reason);
    CHECK_FALSE(has_children());
  }

  TEST_CASE("a torn reply is a failure that says so") {
    const ScriptGuard script("1 inside exit");
    const auto worker = make_worker();
    CHECK(failure_of(*worker, MeasureRequest{}, kPlenty).reason ==
          "a worker message ended in the middle, exited with code 3");
  }

  TEST_CASE("a worker that died between calls is replaced without a failure") {
    const auto worker = make_worker();
    const int pid = pid_of(*worker);
    ::kill(pid, SIGKILL);
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
    CHECK(answers(*worker, CalibrateRequest{}));
  }

  TEST_CASE("a poisoned reply is passed on and the process replaced") {
    const auto worker = make_worker();
    const int pid = pid_of(*worker);
    const auto reply = std::get<WorkerReply>(worker->call(MeasureRequest{.seed = 13}, kPlenty));
    CHECK(std::get<MeasureReply>(reply).poisoned);
    CHECK_FALSE(has_children());
    CHECK(pid_of(*worker) != pid);
  }

  TEST_CASE("a flood on standard error neither blocks nor is kept whole") {
    const ScriptGuard script("1 after flood");
    const auto worker = make_worker();
    CHECK(answers(*worker, CalibrateRequest{}));
    // Its earlier output is not quoted for a later end.
    const int pid = pid_of(*worker);
    CHECK(pid_of(*worker) == pid);
  }

  TEST_CASE("only words about the failing request are quoted") {
    const ScriptGuard script("1 after speak");
    const auto worker = make_worker();
    CHECK(answers(*worker, CalibrateRequest{}));
    CHECK(failure_of(*worker, CalibrateRequest{}, milliseconds(-1)).reason ==
          "no answer within -1 ms, killed");
  }

  TEST_CASE("Ctrl-C does not reach a worker") {
    const ScriptGuard script("1 after interrupt");
    const auto worker = make_worker();
    CHECK(answers(*worker, CalibrateRequest{}));
  }

  TEST_CASE("a worker inherits four descriptors whatever the parent has open") {
    const FileDescriptor leaky(::fcntl(STDERR_FILENO, F_DUPFD, 20));  // without close-on-exec
    const auto worker = make_worker();
    const auto reply = std::get<WorkerReply>(worker->call(CompileRequest{}, kPlenty));
    CHECK(std::get<CompileReply>(reply).log == "0 1 2 3 ");
  }

  TEST_CASE("two hundred kills leave no descriptor and no process") {
    const ScriptGuard script("1 after kill");
    const auto worker = make_worker();
    const int before = count_descriptors();
    for (int i = 0; i < 200; ++i) failure_of(*worker, CalibrateRequest{}, kPlenty);
    CHECK(count_descriptors() == before);
    CHECK_FALSE(has_children());
  }

  TEST_CASE("a worker ends with its owner") {
    auto worker = make_worker();
    const int before = count_descriptors();
    pid_of(*worker);
    CHECK(has_children());
    worker.reset();
    CHECK_FALSE(has_children());
    CHECK(count_descriptors() < before + 2);
  }

  TEST_CASE("a busy worker dies with its parent process") {
    const ScriptGuard script("1 idle hang");  // it will not see its socket close
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);       // the orphan becomes a child of this process
    ChildProcess parent(AUTOTUNE_SCRIPTED_WORKER, {"parent"});
    std::string pid;
    REQUIRE(read_message(parent.socket(), pid));
    CHECK(parent.finish(milliseconds(0)).reason == "killed");
    int status = 0;
    REQUIRE(::waitpid(std::stoi(pid), &status, 0) == std::stoi(pid));
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGKILL);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  TEST_CASE("a worker that something else stops is replaced and asked again") {
    const auto worker = make_worker();
    const int pid = pid_of(*worker);
    ::kill(pid, SIGSTOP);
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WSTOPPED | WNOWAIT) == 0);
    CHECK(std::holds_alternative<WorkerReply>(worker->call(CalibrateRequest{}, kShort)));
    CHECK(pid_of(*worker) != pid);
  }

  TEST_CASE("what a worker has started ends with it, however it ends") {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // the orphan becomes a child of this process
    for (const char* end : {"hang", "segv", "kill"}) {
      CAPTURE(end);
      const ScriptGuard script(std::string("1 after start-and-") + end);
      const auto worker = make_worker();
      const bool hangs = std::string(end) == "hang";
      failure_of(*worker, CompileRequest{}, hangs ? milliseconds(5000) : kPlenty);
      int ended = 0;
      for (int status = 0; ::waitpid(-1, &status, 0) > 0; ++ended) CHECK(WIFSIGNALED(status));
      CHECK(ended >= 1);
    }
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  TEST_CASE("what a worker has started ends with it, though it ends between two looks") {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const ScriptGuard script("1 after start-and-segv");
    const auto worker = make_worker();
    ends_unseen = true;
    failure_of(*worker, CompileRequest{}, kPlenty);
    CHECK_FALSE(ends_unseen);
    int status = 0;
    REQUIRE(::waitpid(-1, &status, 0) > 0);
    CHECK(WIFSIGNALED(status));
    CHECK(::waitpid(-1, nullptr, 0) < 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  TEST_CASE("what a worker has started ends with the program") {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const ScriptGuard script("1 idle start-and-hang");
    ChildProcess parent(AUTOTUNE_SCRIPTED_WORKER, {"parent"});
    std::string pid;
    REQUIRE(read_message(parent.socket(), pid));
    const std::string started = "/proc/" + pid + "/task/" + pid + "/children";
    for (int child = 0; child == 0; std::ifstream(started) >> child) std::this_thread::yield();
    CHECK(parent.finish(milliseconds(0)).reason == "killed");
    for (int orphans = 2; orphans > 0; --orphans) CHECK(::waitpid(-1, nullptr, 0) > 0);
    CHECK(::waitpid(-1, nullptr, 0) < 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  }

  TEST_CASE("a worker that cannot be killed is left behind") {
    const auto worker = make_worker();
    const int pid = pid_of(*worker);
    nothing_ends = true;
    const WorkerFailure failure = failure_of(*worker, CalibrateRequest{}, milliseconds(-1));
    nothing_ends = false;
    CHECK(failure.kind == WorkerFailure::Kind::timed_out);
    CHECK(failure.left_running);
    CHECK(has(failure.reason, "could not be killed: its device may need a reset"));
    CHECK(::waitpid(pid, nullptr, 0) == pid);
    CHECK(answers(*worker, CalibrateRequest{}));
  }
}

}  // namespace
}  // namespace autotune
