#include "tuner/measure/measurer.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "tuner/measure/paced_backend.hpp"

namespace autotune {
namespace {

// Runs the steps of one request, up to the first failure.
class Procedure {
 public:
  Procedure(MeasureBackend& backend, const MeasureRequest& request, MeasureReply& reply)
      : backend_(backend), request_(request), reply_(reply) {}

  void run() {
    if (request_.verify && !verify()) return;
    if (request_.timing.samples > 0) {
      // The poison reveals launches that no longer write their result.
      backend_.poison();
      Timing timing = backend_.time(request_.timing, estimate_us_);
      reply_.measurement = std::move(timing.measurement);
      // The result of the last timed launch is checked.
      const bool to_check = request_.verify && timing.launched;
      if (to_check && !check(DataSet::reals, "after repeated launches")) return;
    }
    if (std::string note = backend_.note(); !note.empty()) reply_.detail = std::move(note);
  }

 private:
  // Verifies one launch on each set of data. The launches also warm up and give a first estimate of
  // the time.
  bool verify() {
    const bool exact = launch_and_check(DataSet::integers, "on integers");
    reply_.verification.integers_exact = exact;
    return exact && launch_and_check(DataSet::reals, "on random data");
  }

  bool launch_and_check(DataSet data, const std::string& when) {
    backend_.poison();
    const double us = backend_.launch(data);
    estimate_us_ = estimate_us_ == 0 ? us : std::min(estimate_us_, us);
    return check(data, when);
  }

  bool check(DataSet data, const std::string& when) {
    Finding finding;
    CheckOutcome outcome = backend_.check(data, when, finding);
    if (data == DataSet::reals) {
      Verification& verification = reply_.verification;
      verification.error_bound = request_.data.error_bound;
      verification.max_error_ratio = finding.max_error_ratio;
      verification.frobenius_error = frobenius_error(finding);
    }
    if (outcome.ok()) return true;
    reply_.status = outcome.status;
    reply_.detail = std::move(outcome.detail);
    return false;
  }

  MeasureBackend& backend_;
  const MeasureRequest& request_;
  MeasureReply& reply_;
  double estimate_us_ = 0;
};

}  // namespace

MeasureReply measure(MeasureBackend& device, const MeasureRequest& request) {
  Pace pace(request.share);
  PacedBackend paced(device, pace);
  MeasureBackend& backend = request.share < 1 ? paced : device;
  MeasureReply reply;
  reply.detail = backend.provide(request);
  if (!reply.detail.empty()) {
    reply.status = TrialStatus::out_of_memory;
    return reply;
  }
  // Errors from here on are failures of the candidate.
  TrialStatus failure = TrialStatus::load_failed;
  try {
    reply.detail = backend.load(request);
    failure = TrialStatus::launch_failed;
    backend.prepare_launch();
    Procedure(backend, request, reply).run();
  } catch (const Error& error) {
    // A baseline may be absent; all else that a kernel finds absent is a fault of the machine.
    if (error.code() == ErrorCode::environment && request.baseline.empty()) throw;
    reply = {};
    reply.status = backend.is_out_of_memory(error) ? TrialStatus::out_of_memory : failure;
    reply.detail = error.what();
    reply.poisoned = backend.is_poisoned(error);
  } catch (const std::bad_alloc&) {
    reply = {};
    reply.status = TrialStatus::out_of_memory;
    reply.detail = request.data.text + ": there is not enough memory";
  }
  if (reply.status != TrialStatus::ok) backend.discard(reply.status);
  return reply;
}

}  // namespace autotune
