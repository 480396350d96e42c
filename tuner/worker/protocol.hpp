// The messages between the program and its workers: one request, one reply.
//
// A worker knows nothing of templates or databases: a compile request carries source text and
// options, a measuring request carries a cubin, its signature and how to launch it. So any kernel
// of an operation that the worker knows can be given to it, faulty ones included.
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
#include "operation/operation.hpp"

namespace autotune {

// Asks for the worker's compiler.
struct DescribeCompilerRequest {};
struct DescribeCompilerReply {
  std::string build;  // "13.0.88 CL-36424714"; empty: no compiler, `problem` says why
  std::string path;   // the library file that was loaded
  std::vector<std::string> architectures;  // "sm_75", ... that it can make cubins for
  std::string problem;
};

struct CompileRequest {
  std::string name;    // of the kernel, a C symbol
  std::string source;  // CUDA C++
  std::vector<std::string> options;
};
struct CompileReply {
  bool ok = false;
  std::string cubin;  // bytes
  std::string log;    // at most 64 KiB
  Resources resources;
};

// The number of launches that are timed.
struct TimingPlan {
  int samples = 5;              // at most; 0: none
  double min_sample_us = 2000;  // a sample is a batch of launches at least this long
  int launches_per_sample = 0;  // 0: as many as min_sample_us asks for
  double stop_above_us = 0;     // stop sampling once a launch takes longer than this; 0: never
};

// Runs one kernel on one problem: proves it right, then times it. Whatever the kernel does, the
// caller gets a reply or learns that the worker is gone.
struct MeasureRequest {
  Problem problem;
  std::string kernel_name;  // its C symbol in the cubin
  std::string cubin;
  KernelSignature signature;
  LaunchGeometry geometry;

  InputData input = InputData::uniform;
  std::uint64_t seed = 1;
  bool verify = true;
  TimingPlan timing;  // no samples: verify only

  // Empty: the kernel above is measured. Else the baseline of this name (gpu/baseline.hpp), on the
  // same tensors; cubin, kernel_name, signature and geometry are then ignored.
  std::string baseline;
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

// The worker that gave this reply cannot go on.
[[nodiscard]] bool is_poisoned(const WorkerReply& reply);

// CBOR bytes of a message and back. decode_* throw Error for bytes that are not such a message.
[[nodiscard]] std::string encode(const WorkerRequest& request);
[[nodiscard]] std::string encode(const WorkerReply& reply);
[[nodiscard]] WorkerRequest decode_request(const std::string& bytes);
[[nodiscard]] WorkerReply decode_reply(const std::string& bytes);

// The other side neither took nor sent the whole message in time.
class MessageTimeout : public Error {
 public:
  using Error::Error;
};

// The longest message: no kernel, source or log comes near it.
inline constexpr std::size_t kMaxMessageBytes = 256u << 20;

// A message on a socket: 4 bytes of length, little-endian, then that many bytes.
// write_message throws Error when the other side is gone. read_message gives false at the end of
// the stream and throws Error for a torn message or one of over 256 MiB. Both throw MessageTimeout
// at the deadline, in the middle of a message too.
using Deadline = std::chrono::steady_clock::time_point;
void write_message(int fd, const std::string& bytes, Deadline deadline = Deadline::max());
[[nodiscard]] bool read_message(int fd, std::string& bytes, Deadline deadline = Deadline::max());

}  // namespace autotune
