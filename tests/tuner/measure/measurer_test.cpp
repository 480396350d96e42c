// The procedure of a measurement, above a backend that does as it is told.
#include "tuner/measure/measurer.hpp"

#include <new>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/measure_request.hpp"

namespace autotune {
namespace {

class ScriptedBackend : public MeasureBackend {
 public:
  std::vector<std::string> calls;
  std::string failing;           // the call that finds a wrong result or throws
  bool is_out_of_host = false;   // it throws std::bad_alloc
  bool lacks_something = false;  // it throws EnvironmentError
  bool is_screened = false;
  bool keeps_results = false;  // a result that is wrong on the reals is right on the integers
  std::string second_detail;   // of a check that fails again
  std::string changed;         // an input
  double least = 0;

  std::string provide(const MeasureRequest&) override {
    note_call("provide");
    return "";
  }
  std::string load(const MeasureRequest&) override {
    note_call("load");
    return "";
  }
  void poison(DataSet, Poison poison) override {
    note_call(poison == Poison::nan ? "poison" : "other poison");
  }
  std::string changed_input(DataSet) override { return changed; }
  [[nodiscard]] double least_us(const ProblemData&) override { return least; }
  double launch(DataSet data) override {
    note_call(data == DataSet::integers ? "launch integers" : "launch reals");
    return 10;
  }
  CheckOutcome check(DataSet data, const std::string& when, Finding&) override {
    const bool is_again = !second_detail.empty() && calls.back() == "launch reals" &&
                          calls[calls.size() - 2] == "other poison";
    note_call("check " + when);
    if (is_again) return {TrialStatus::wrong_result, second_detail};
    if (keeps_results && data == DataSet::integers) return {};
    if (failing == "check " + when) return {TrialStatus::wrong_result, when};
    return {};
  }
  Timing time(const TimingPlan&, double estimate_us) override {
    note_call("time");
    return {.measurement = {.median_us = estimate_us}, .launched = !is_screened};
  }
  void discard(TrialStatus status) override { note_call("discard " + to_string(status)); }

 private:
  void note_call(const std::string& call) {
    calls.push_back(call);
    if (is_out_of_host && call == failing) throw std::bad_alloc();
    if (lacks_something && call == failing) throw EnvironmentError("no descriptor is left");
  }
};

MeasureReply measured_by(ScriptedBackend& backend, const std::string& baseline = "") {
  MeasureRequest request = test::request_for({.m = 8, .n = 8, .k = 8});
  request.baseline = baseline;
  return measure(backend, request);
}

// The same for an operation with tolerances.
MeasureReply judged_by(ScriptedBackend& backend, TensorRole role = TensorRole::output,
                       const Work& work = {}) {
  MeasureRequest request;
  request.data.tensors = {{"c", role, ElementType::f32, 1, 8, 8, 1, 8}};
  request.data.work = work;
  request.data.error_bound = 1;
  return measure(backend, request);
}

using Calls = std::vector<std::string>;

TEST_SUITE("measure") {
  TEST_CASE("a kernel is verified on both sets of data, timed, and verified again") {
    ScriptedBackend backend;
    const MeasureReply reply = measured_by(backend);
    CHECK(reply.status == TrialStatus::ok);
    CHECK(reply.measurement.median_us == 10);
    CHECK(reply.verification.integers_exact);
    CHECK(backend.calls == Calls{"provide", "load", "poison", "launch integers",
                                 "check on integers", "poison", "launch reals",
                                 "check on random data", "poison", "time",
                                 "check after repeated launches"});
  }

  TEST_CASE("an output that was poisoned and not launched is not checked") {
    ScriptedBackend backend;
    backend.is_screened = true;
    CHECK(measured_by(backend).status == TrialStatus::ok);
    CHECK(backend.calls.back() == "time");
  }

  TEST_CASE("the first wrong result ends the measurement") {
    for (const std::string check : {"check on integers", "check on random data"}) {
      ScriptedBackend backend;
      backend.failing = check;
      CHECK(measured_by(backend).status == TrialStatus::wrong_result);
      CHECK(backend.calls[backend.calls.size() - 2] == check);
      CHECK(backend.calls.back() == "discard wrong_result");
    }
  }

  TEST_CASE("an inout begins the last launch that is checked with its own data") {
    ScriptedBackend backend;
    CHECK(judged_by(backend).verification.integers_exact);
    CHECK(backend.calls == Calls{"provide", "load", "poison", "launch integers",
                                 "check on the first data", "poison", "launch reals",
                                 "check on the second data", "poison", "time",
                                 "check after repeated launches"});
    backend.calls.clear();
    CHECK(judged_by(backend, TensorRole::inout).status == TrialStatus::ok);
    CHECK(Calls(backend.calls.end() - 4, backend.calls.end()) ==
          Calls{"time", "poison", "launch reals", "check after repeated launches"});
  }

  TEST_CASE("a wrong result of an operation with tolerances is explained") {
    ScriptedBackend backend;
    backend.failing = "check on the second data";
    CHECK(judged_by(backend).detail == "on the second data");
    backend.second_detail = "others";
    CHECK(judged_by(backend).detail ==
          "others; another launch on the same data has another result, which depends on memory "
          "that was not set or on the order of threads");
    backend.keeps_results = true;
    CHECK(judged_by(backend).detail == "on the second data; it is the result of the data before");
    backend.changed = "a";
    const MeasureReply reply = judged_by(backend);
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail == "changed the input a on the first data");
  }

  TEST_CASE("a time that is too short for the work is an error") {
    ScriptedBackend backend;
    backend.least = 10.5;
    CHECK(judged_by(backend).status == TrialStatus::ok);  // nothing is known of the work
    const MeasureReply reply = judged_by(backend, TensorRole::output, {2e9, 3e6});
    CHECK(reply.status == TrialStatus::wrong_result);
    CHECK(reply.detail ==
          "took 10 us, but 2e+09 operations and 3e+06 bytes take this device 10.5 us at least");
    backend.least = 9.5;
    CHECK(judged_by(backend, TensorRole::output, {2e9, 3e6}).status == TrialStatus::ok);
    backend.least = 1e9;
    CHECK(measured_by(backend).status == TrialStatus::ok);  // built-in operations are not asked
  }

  TEST_CASE("memory that this process lacks is not the kernel's fault") {
    for (const std::string call : {"load", "launch integers", "check on random data", "time"}) {
      ScriptedBackend backend;
      backend.failing = call;
      backend.is_out_of_host = true;
      const MeasureReply reply = measured_by(backend);
      CHECK(reply.status == TrialStatus::out_of_memory);
      CHECK(reply.detail == "8x8x8: there is not enough memory");
      CHECK_FALSE(reply.verification.integers_exact);
      CHECK(backend.calls.back() == "discard out_of_memory");
    }
  }

  TEST_CASE("what the machine lacks is not the kernel's fault, and a baseline may be absent") {
    for (const std::string call : {"load", "launch integers", "time"}) {
      ScriptedBackend backend;
      backend.failing = call;
      backend.lacks_something = true;
      CHECK_THROWS_AS(static_cast<void>(measured_by(backend)), EnvironmentError);
      CHECK(measured_by(backend, "cublas").detail == "no descriptor is left");
    }
  }
}

}  // namespace
}  // namespace autotune
