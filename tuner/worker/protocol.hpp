// The messages between the program and its workers: one request, one reply.
//
// A worker knows nothing of operations, templates or databases: a compile request carries source
// text and options, a measuring request carries a cubin, its signature, how to launch it, and all
// of the problem's data. So any kernel can be given to it, faulty ones included.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "autotune/error.hpp"

#include "core/device_info.hpp"
#include "core/kernel_signature.hpp"
#include "core/launch_geometry.hpp"
#include "core/problem.hpp"
#include "core/trial.hpp"
#include "operation/problem_data.hpp"

namespace autotune {

// Asks for the worker's compiler.
struct DescribeCompilerRequest {};
struct DescribeCompilerReply {
  std::string build;  // "13.0.88 CL-36424714"; empty: no compiler, `problem` says why
  std::string path;   // the library file that was loaded
  std::vector<std::string> architectures;  // "sm_75", ...: those of the cubins that it can make
  std::string problem;
};

struct CompileRequest {
  std::string name;    // the kernel's C symbol
  std::string source;  // CUDA C++
  std::vector<std::string> options;
};
struct CompileReply {
  bool ok = false;
  std::string cubin;  // bytes
  std::string log;    // at most 64 KiB
  Resources resources;
  std::string problem;  // why the compiler could not be run; says nothing about the kernel
};

// The number of launches that are timed.
struct TimingPlan {
  int samples = 5;              // at most; 0: none
  double min_sample_us = 2000;  // a sample is a batch of launches at least this long
  int launches_per_sample = 0;  // 0: as many as min_sample_us asks for
  double stop_above_us = 0;     // stop sampling once a launch takes longer than this; 0: never
};

// Asks to run one kernel on one problem: to verify it, then to time it. Whatever the kernel does,
// the caller gets a reply or a WorkerFailure.
struct MeasureRequest {
  Problem problem;  // for the baseline, which knows operations
  ProblemData data;
  std::string kernel_name;  // its C symbol in the cubin
  std::string cubin;
  KernelSignature signature;
  LaunchGeometry geometry;

  InputData input = InputData::uniform;
  std::uint64_t seed = 1;
  bool verify = true;
  TimingPlan timing;  // without samples the kernel is only verified
  double share = 1;   // the largest part of the device's time to take, above 0

  // If this is empty, the kernel above is measured, otherwise the baseline of this name
  // (gpu/baseline.hpp) on the same tensors; cubin, kernel_name, signature and geometry are then
  // ignored.
  std::string baseline;
  // The baseline's algorithm, 0 for its own choice. The reply's status is load_failed if it has
  // fewer for this problem.
  int algorithm = 0;
};
struct MeasureReply {
  TrialStatus status = TrialStatus::ok;
  std::string detail;
  Measurement measurement;
  Verification verification;
  // The fault poisoned the process (cuda.h: "the process must be terminated and relaunched"). The
  // worker ends itself after this reply.
  bool poisoned = false;
};

// Asks for the maximum rates of the device, measured with plain kernels.
struct CalibrateRequest {};
struct CalibrateReply {
  double fma_gflops = 0;  // FP32 FFMA from registers
  double copy_gbps = 0;   // device-to-device copy, bytes read plus bytes written
  std::string problem;    // why it could not be measured; empty when it was
};

using WorkerRequest =
    std::variant<DescribeCompilerRequest, CompileRequest, MeasureRequest, CalibrateRequest>;
using WorkerReply = std::variant<DescribeCompilerReply, CompileReply, MeasureReply, CalibrateReply>;

// Returns whether the reply is of the request's kind, and has the samples that were asked for or
// the reason why it lacks them.
[[nodiscard]] bool answers(const WorkerReply& reply, const WorkerRequest& request);

// Returns whether the worker that gave this reply cannot go on.
[[nodiscard]] bool is_poisoned(const WorkerReply& reply);

// These convert a message to CBOR bytes and back. decode_* throw Error for bytes that are not such
// a message, and for replies with figures that no measurement can have: figures that are negative
// or not finite, and samples of a correct kernel that take no time or over 10^12 us.
[[nodiscard]] std::string encode(const WorkerRequest& request);
[[nodiscard]] std::string encode(const WorkerReply& reply);
[[nodiscard]] WorkerRequest decode_request(const std::string& bytes);
[[nodiscard]] WorkerReply decode_reply(const std::string& bytes);

// A message was not sent or received as a whole by the deadline.
class MessageTimeout : public Error {
 public:
  using Error::Error;
};

// The longest message: no kernel, source or log comes near it.
inline constexpr std::size_t kMaxMessageBytes = 64u << 20;

// A message on a socket is its length as 4 little-endian bytes, then that many bytes. write_message
// throws Error when the other side has ended. read_message returns false at the end of the stream,
// and throws Error for a message that is cut short or longer than 64 MiB. Both throw MessageTimeout
// at the deadline, even in the middle of a message. Time in which this process was stopped for over
// a second does not count. With the descriptor of a process (pidfd), the stream also ends with that
// process, though others that it has started may keep the socket open.
using Deadline = std::chrono::steady_clock::time_point;
void write_message(int fd, const std::string& bytes, Deadline deadline = Deadline::max(),
                   int process = -1);
[[nodiscard]] bool read_message(int fd, std::string& bytes, Deadline deadline = Deadline::max(),
                                int process = -1);

}  // namespace autotune
