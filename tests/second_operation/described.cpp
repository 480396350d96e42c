#include "tests/second_operation/described.hpp"

#include <chrono>
#include <fstream>

#include <doctest/doctest.h>

#include "operation/operation.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

std::string source_of(const std::string& before, const std::string& behind,
                      const std::string& outside = "") {
  return outside + R"(
extern "C" __global__ void gather(const float* a, const int* index, float* c, float* total, int n,
                                  float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = factor * a[index[i]];
  )" + before +
         R"(
  c[i] = value;
  total[i] += value;
  )" + behind +
         "\n}\n";
}

Operation make_operation() {
  using Kind = TensorContent::Kind;
  const auto tensor = [](const char* name, TensorRole role, ElementType type, std::int64_t n) {
    return TensorDesc{name, role, type, 1, n, n, 1, n};
  };
  return {
      .name = "gather",
      .tensors =
          [tensor](const Problem& problem) {
            const std::int64_t n = problem.size("n");
            return std::vector{tensor("a", TensorRole::input, ElementType::f32, n),
                               tensor("index", TensorRole::input, ElementType::i32, n),
                               tensor("c", TensorRole::output, ElementType::f32, n),
                               tensor("total", TensorRole::inout, ElementType::f32, n)};
          },
      .work = [](const Problem&) { return Work(); },
      .distance = [](const Problem&, const Problem&) { return 0.0; },
      .scalars = {0.5},
      // The kernel takes 32 bits of it.
      .numbers =
          [](const Problem& problem) {
            return std::vector{(std::int64_t{7} << 32) + problem.size("n")};
          },
      .contents =
          [](const Problem&) {
            return std::vector<TensorContent>{
                {Kind::normal, 1, 0.25}, {Kind::permutation}, {}, {Kind::linear, -2, 2}};
          },
      .launched_reference =
          [](const Problem& problem) {
            using enum ArgumentKind;
            return LaunchedReference{
                .name = "gather",
                .source = source_of("", ""),
                .signature =
                    {{tensor, 0}, {tensor, 1}, {tensor, 2}, {tensor, 3}, {size, 0}, {scalar, 0}},
                .geometry = {.grid = {(problem.size("n") + 31) / 32, 1, 1}, .block = {32, 1, 1}}};
          }};
}

void check_fault(const MeasureReply& reply, TrialStatus status, const std::string& words) {
  CAPTURE(reply.detail);
  CHECK(reply.status == status);
  CHECK(reply.detail.find(words) != std::string::npos);
  CHECK_FALSE(reply.poisoned);
}

}  // namespace

DescribedBench::DescribedBench(const WorkerFactory& make_worker, std::vector<std::string> options)
    : worker_(make_worker()), options_(std::move(options)) {
  request.problem = Problem("gather", {{"n", kCount}}, {});
  request.data = problem_data(make_operation(), request.problem, request.input);
  request.kernel_name = "gather";
  request.signature = request.data.launched_reference->signature;
  request.geometry = {.grid = {(kCount + 63) / 64, 1, 1}, .block = {64, 1, 1}};
  request.timing = {.samples = 2, .min_sample_us = 0};
}

WorkerOutcome DescribedBench::outcome_of(const std::string& source) {
  constexpr std::chrono::seconds kLimit(60);
  WorkerOutcome compiled = worker_->call(CompileRequest{"gather", source, options_}, kLimit);
  REQUIRE(std::holds_alternative<WorkerReply>(compiled));
  auto reply = std::get<CompileReply>(std::get<WorkerReply>(std::move(compiled)));
  REQUIRE_MESSAGE(reply.ok, reply.log);
  request.cubin = std::move(reply.cubin);
  return worker_->call(request, kLimit);
}

MeasureReply DescribedBench::measure(const std::string& before, const std::string& behind,
                                     const std::string& outside) {
  WorkerOutcome outcome = outcome_of(source_of(before, behind, outside));
  if (const auto* failure = std::get_if<WorkerFailure>(&outcome)) FAIL(failure->reason);
  return std::get<MeasureReply>(std::get<WorkerReply>(std::move(outcome)));
}

std::string DescribedBench::refusal(const std::string& before, const std::string& behind) {
  request.data.launched_reference->source = source_of(before, behind);
  const WorkerOutcome outcome = outcome_of(source_of("", ""));
  const auto* failure = std::get_if<WorkerFailure>(&outcome);
  REQUIRE(failure != nullptr);
  CHECK(failure->kind == WorkerFailure::Kind::no_service);
  return failure->reason;
}

void check_described(const WorkerFactory& make_worker, const std::vector<std::string>& options) {
  DescribedBench bench(make_worker, options);
  const MeasureReply reply = bench.measure();
  CHECK_MESSAGE(reply.status == TrialStatus::ok, reply.detail);
  CHECK(reply.measurement.samples_us.size() == 2);
  CHECK(reply.verification.integers_exact);
  CHECK(reply.verification.max_error_ratio == 0);
  CHECK(reply.verification.error_bound == 1);
  CHECK(reply.verification.keeps_to(0));
  // An inout has its data before each launch that is checked, and not before those that are timed.
  bench.request.timing.launches_per_sample = 20;
  CHECK(bench.measure().status == TrialStatus::ok);
  // Another seed and other numbers are other data.
  bench.request.seed = 5;
  bench.request.data.scalars = {-3};
  CHECK(bench.measure().status == TrialStatus::ok);
}

void check_described_faults(const WorkerFactory& make_worker,
                            const std::vector<std::string>& options) {
  DescribedBench bench(make_worker, options);
  using enum TrialStatus;
  const auto check = [&](const char* before, const char* behind, TrialStatus status,
                         const std::string& words) {
    CAPTURE(before);
    CAPTURE(behind);
    check_fault(bench.measure(before, behind), status, words);
  };
  check("", "if (i == n - 1) c[n] = 0;", out_of_bounds,
        "wrote to 1 word outside of the output c on the first data");
  check("", "if (i == 0) c[-1] = 0;", out_of_bounds, "outside of the output c");
  check("", "if (i == 0) total[n] = 0;", out_of_bounds, "outside of the output total");
  check("return;", "", wrong_result, "wrote nothing to the output c on the first data");
  check("if (i % 50 == 7) return;", "", wrong_result,
        "left 4 of 200 elements of the output c unwritten on the first data, the first is element "
        "7");
  check("", "if (i == 3) const_cast<float*>(a)[3] = 99;", wrong_result,
        "changed the input a on the first data");
  check("", "if (i == 3) c[i] = __uint_as_float(0x7fc00001);", wrong_result,
        "1 of 200 elements of c are wrong on the first data; element 3 is nan, but ");
  check("", "if (i == 3) c[i] = __uint_as_float(0x7f800000);", wrong_result, "element 3 is inf");
  check("", "c[i] += c[i] - value;", ok, "");
  check("", "total[i] = value;", wrong_result, "200 of 200 elements of total are wrong");
  // Memory that was not set. A reference that reads it, too, finds other poison.
  const char* const reads = "const float before = c[i];";
  const char* const uses = "c[i] = value + before * 1e-9f;";
  check(reads, uses, wrong_result, "another launch on the same data has another result");
  const std::string right = bench.request.data.launched_reference->source;
  bench.request.data.launched_reference->source = source_of(reads, uses);
  check(reads, uses, wrong_result, "another launch on the same data has another result");
  bench.request.data.launched_reference->source = right;
  // A launch that differs from those before.
  bench.request.timing.launches_per_sample = 500;
  check_fault(bench.measure("if (threadIdx.x == 0) ++runs;", "if (runs > 100) c[i] = 0;",
                            "__device__ int runs = 0;"),
              wrong_result, "after repeated launches");
  // A time in which no device does so much.
  bench.request.timing.launches_per_sample = 1;
  bench.request.data.work.operations = 1e18;
  check_fault(bench.measure(), wrong_result,
              "us, but 1e+18 operations and 0 bytes take this device");
  bench.request.data.work.operations = 1000;
  CHECK(bench.measure().status == ok);
}

void check_described_tolerances(const WorkerFactory& make_worker,
                                const std::vector<std::string>& options) {
  DescribedBench bench(make_worker, options);
  const char* const little = "c[i] = value * 1.00005f;";
  const MeasureReply reply = bench.measure("", little);
  CHECK_MESSAGE(reply.status == TrialStatus::ok, reply.detail);
  CHECK(reply.verification.max_error_ratio > 0.1);
  CHECK(reply.verification.max_error_ratio < 1);
  CHECK(reply.verification.frobenius_error == doctest::Approx(5e-5).epsilon(0.5));
  CHECK(bench.measure("", "c[i] = value * 1.001f;").status == TrialStatus::wrong_result);
  bench.request.data.contents[2].tolerance = Tolerance{1e-6, 0};
  CHECK(bench.measure("", little).status == TrialStatus::wrong_result);
  bench.request.data.contents[2].tolerance = Tolerance{1e-3, 0};
  CHECK(bench.measure("", little).status == TrialStatus::ok);
  // What is not a number is right only where the reference has the same.
  bench.request.data.contents[0] = {TensorContent::Kind::constant, 3e38};
  bench.request.data.scalars = {4};
  CHECK(bench.measure("", "total[i] = value;").status == TrialStatus::ok);
  CHECK(bench.measure("", "c[i] = 3e38f;").status == TrialStatus::wrong_result);
  CHECK(bench.measure("", "c[i] = -value;").status == TrialStatus::wrong_result);
  bench.request.data.launched_reference->source = source_of("", "c[i] = value - value;");
  CHECK(bench.measure("", "c[i] = value - value;").status == TrialStatus::ok);
  CHECK(bench.measure().status == TrialStatus::wrong_result);
}

void check_faulty_references(const WorkerFactory& make_worker,
                             const std::vector<std::string>& options) {
  const auto check = [&](const char* before, const char* behind, const std::string& words) {
    DescribedBench bench(make_worker, options);
    const std::string reason = bench.refusal(before, behind);
    CAPTURE(reason);
    CHECK(reason.find("the reference gather cannot judge kernels: " + words) != std::string::npos);
  };
  check("if (i == 5) return;", "",
        "it leaves 1 of 200 elements of the output c unwritten, the first is element 5");
  check("", "if (i == 0) c[n] = 0;", "it writes outside of the output c");
  check("", "if (i == 0) const_cast<float*>(a)[0] = 99;", "it changes the input a");
  check("", "this is not C++", "it does not compile: ");
}

void check_files(const WorkerFactory& make_worker, const std::vector<std::string>& options) {
  const TemporaryFolder folder;
  DescribedBench bench(make_worker, options);
  std::vector<float> a(DescribedBench::kCount);
  std::vector<float> half(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i) - 50;
    half[i] = a[i] / 2;
  }
  const std::string a_file = folder.path() / "a.npy";
  const std::string c_file = folder.path() / "c.npy";
  write_npy(a_file, "<f4", "(200,)", a);
  write_npy(c_file, "<f4", "(10, 20)", half);
  std::vector<TensorContent>& contents = bench.request.data.contents;
  contents[0] = {.kind = TensorContent::Kind::file, .file = a_file};
  contents[1] = {TensorContent::Kind::linear, 0, 199};
  contents[2].expected = c_file;
  contents[3] = {TensorContent::Kind::constant, 0};
  CHECK(bench.measure().status == TrialStatus::ok);
  check_fault(bench.measure("", "if (i == 9) c[i] = 1;"), TrialStatus::wrong_result,
              "element 9 is 1, but -20.5 is expected");
  // Files of all outputs need no reference.
  contents[3].expected = c_file;
  bench.request.data.launched_reference.reset();
  CHECK(bench.measure().status == TrialStatus::ok);
  CHECK(bench.measure("", "total[i] += 1;").status == TrialStatus::wrong_result);
}

}  // namespace autotune::test
