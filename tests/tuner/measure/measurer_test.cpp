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

  std::string provide(const MeasureRequest&) override {
    note_call("provide");
    return "";
  }
  std::string load(const MeasureRequest&) override {
    note_call("load");
    return "";
  }
  void poison() override { note_call("poison"); }
  double launch(DataSet data) override {
    note_call(data == DataSet::integers ? "launch integers" : "launch reals");
    return 10;
  }
  CheckOutcome check(DataSet, const std::string& when, Finding&) override {
    note_call("check " + when);
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
