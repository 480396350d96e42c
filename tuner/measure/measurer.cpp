#include "tuner/measure/measurer.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <fmt/format.h>

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
    if (request_.timing.samples > 0 && !time()) return;
    if (std::string note = backend_.note(); !note.empty()) reply_.detail = std::move(note);
  }

 private:
  // Verifies one launch on each set of data. The launches also warm up and give a first estimate of
  // the time.
  bool verify() {
    const bool exact =
        launch_and_check(DataSet::integers, tolerances_ ? "on the first data" : "on integers");
    reply_.verification.integers_exact = exact;
    const bool is_right =
        exact &&
        launch_and_check(DataSet::reals, tolerances_ ? "on the second data" : "on random data");
    if (is_right) backend_.store_results();
    return is_right;
  }

  bool time() {
    // The poison reveals launches that no longer write their result.
    backend_.poison(DataSet::reals);
    Timing timing = backend_.time(request_.timing, estimate_us_);
    reply_.measurement = std::move(timing.measurement);
    if (tolerances_ && is_impossible()) return false;
    if (!request_.verify || !timing.launched) return true;
    // The result of the last timed launch is checked. Each of them began with what the one before
    // has left in an inout, so that there one more launch is needed.
    constexpr const char* kWhen = "after repeated launches";
    return std::ranges::any_of(
               request_.data.tensors,
               [](const TensorDesc& tensor) { return tensor.role == TensorRole::inout; })
               ? launch_and_check(DataSet::reals, kWhen)
               : check(DataSet::reals, kWhen);
  }

  // Fails a kernel whose time is too short for the work that its operation says.
  bool is_impossible() {
    const Measurement& measured = reply_.measurement;
    const Work& work = request_.data.work;
    if (measured.screened_out || std::max(work.operations, work.bytes) <= 0) return false;
    const double least_us = backend_.least_us(request_.data);
    if (measured.median_us >= least_us) return false;
    reply_.status = TrialStatus::wrong_result;
    reply_.detail = fmt::format(
        "took {:.3g} us, but {:.3g} operations and {:.3g} bytes take this device {:.3g} us at "
        "least",
        measured.median_us, work.operations, work.bytes, least_us);
    return true;
  }

  bool launch_and_check(DataSet data, const std::string& when) {
    backend_.poison(data);
    const double us = backend_.launch(data);
    estimate_us_ = estimate_us_ == 0 ? us : std::min(estimate_us_, us);
    return check(data, when);
  }

  bool check(DataSet data, const std::string& when) {
    Finding finding;
    CheckOutcome outcome = backend_.check(data, when, finding);
    if (tolerances_) outcome = explained(std::move(outcome), data, when);
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

  // Adds what further checks tell about a result of an operation with tolerances.
  CheckOutcome explained(CheckOutcome outcome, DataSet data, const std::string& when) {
    if (outcome.status == TrialStatus::out_of_bounds) return outcome;
    if (const std::string input = backend_.changed_input(data); !input.empty()) {
      return {TrialStatus::wrong_result, fmt::format("changed the input {} {}", input, when)};
    }
    if (outcome.ok()) return outcome;
    Finding finding;
    if (data == DataSet::reals && backend_.check(DataSet::integers, when, finding).ok()) {
      outcome.detail += "; it is the result of the data before";
      return outcome;
    }
    backend_.poison(data, Poison::number);
    backend_.launch(data);
    CheckOutcome again = backend_.check(data, when, finding);
    if (again.detail == outcome.detail) return outcome;
    if (!again.ok()) outcome = std::move(again);
    outcome.detail +=
        "; another launch on the same data has another result, which depends on memory that was "
        "not set or on the order of threads";
    return outcome;
  }

  MeasureBackend& backend_;
  const MeasureRequest& request_;
  MeasureReply& reply_;
  const bool tolerances_ = request_.data.has_tolerances();
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
