#include "tests/second_operation/mix.hpp"

#include <cstring>
#include <list>

#include <doctest/doctest.h>

#include "select/lookup.hpp"
#include "tests/second_operation/journey.hpp"

namespace autotune::test {
namespace {

constexpr const char* kName = "mix";
constexpr std::int64_t kReferenceTile = 16;

constexpr const char* kKernel = R"(
extern "C" __global__ void mix_tiled(const float* x, float* out, const int* weight, int* turned,
                                     const float* y, long long rows, long long columns) {
  const long long tiles = (columns + TILE - 1) / TILE;
  const long long row = blockIdx.x / tiles * TILE + threadIdx.y;
  const long long column = blockIdx.x % tiles * TILE + threadIdx.x;
  if (row >= rows || column >= columns) return;
  const long long i = row * columns + column;
  out[i] = fmaf(x[i], static_cast<float>(weight[i]), y[i]);
  turned[column * rows + row] = 2 * weight[i] + 1;
  FAULT
}
)";

constexpr const char* kReference = R"(
using Index = long long;

template <typename Store>
__device__ __forceinline__ void mix(const ELEMENT_X* x, const ELEMENT_WEIGHT* weight,
                                    const ELEMENT_Y* y, Index rows, Index columns,
                                    const Store& store) {
  const Index tiles = (columns + 15) / 16;
  const Index row = blockIdx.x / tiles * 16 + threadIdx.x / 16;
  const Index column = blockIdx.x % tiles * 16 + threadIdx.x % 16;
  if (row >= rows || column >= columns) return;
  const Index i = row * columns + column;
  store(i, column * rows + row, to_double(x[i]) * to_double(weight[i]), to_double(y[i]),
        2 * to_double(weight[i]) + 1);
}

extern "C" __global__ void reference_integers(const ELEMENT_X* x, const ELEMENT_WEIGHT* weight,
                                              const ELEMENT_Y* y, Index rows, Index columns,
                                              ELEMENT_OUT* out, ELEMENT_TURNED* turned) {
  mix(x, weight, y, rows, columns,
      [=](Index i, Index j, double product, double addend, double other) {
        from_double(product + addend, out[i]);
        from_double(other, turned[j]);
      });
}

extern "C" __global__ void reference_real(const ELEMENT_X* x, const ELEMENT_WEIGHT* weight,
                                          const ELEMENT_Y* y, Index rows, Index columns,
                                          double* out, float* out_magnitudes, double* turned,
                                          float* turned_magnitudes) {
  mix(x, weight, y, rows, columns,
      [=](Index i, Index j, double product, double addend, double other) {
        out[i] = product + addend;
        out_magnitudes[i] = static_cast<float>(fabs(product) + fabs(addend));
        turned[j] = other;
        turned_magnitudes[j] = 1;
      });
}
)";

std::int64_t tiles(const Problem& problem, std::int64_t side) {
  const auto along = [&](const char* size) { return (problem.size(size) + side - 1) / side; };
  return along("rows") * along("columns");
}

std::vector<TensorDesc> tensors(const Problem& problem) {
  const std::int64_t rows = problem.size("rows");
  const std::int64_t columns = problem.size("columns");
  using enum TensorRole;
  using enum ElementType;
  return {{"x", input, f32, rows, columns, columns},
          {"out", output, f32, rows, columns, columns},
          {"weight", input, i32, rows, columns, columns},
          {"turned", output, i32, columns, rows, rows},
          {"y", input, f32, rows, columns, columns}};
}

Operation make_operation() {
  return {
      .name = kName,
      .tensors = tensors,
      .work =
          [](const Problem& problem) {
            const double elements = tensors(problem).front().volume() / 4;
            return Work{.operations = 4 * elements, .bytes = 20 * elements};
          },
      .distance = [](const Problem& a,
                     const Problem& b) { return a.size("rows") == b.size("rows") ? 0.5 : 1; },
      .error_bound = [](const Problem&, InputData) { return 1.0; },
      .reference_source = kReference,
      .reference_numbers =
          [](const Problem& problem) {
            return std::vector{problem.size("rows"), problem.size("columns")};
          },
      .reference_blocks = [](const Problem& problem) { return tiles(problem, kReferenceTile); }};
}

// Sources with faults, which templates refer to.
std::string_view kept_source(std::string text) {
  static std::list<std::string> sources;
  return sources.emplace_back(std::move(text));
}

TuneReport tune_mix(const KernelSet& kernels, TuningDatabase& database, const DeviceInfo& device,
                    const WorkerFactory& make_worker, std::vector<Trial>* trials = nullptr) {
  CubinStore cubins = CubinStore::disabled();
  TunerSetup setup = operation_setup(device, make_worker, database, cubins, kernels);
  TuneRequest request;
  request.problems = {mix_problem(70, 33)};
  request.command = "test";
  return tune(request, setup,
              [&](const TuneProgress& progress) {
                if (trials != nullptr && progress.last != nullptr)
                  trials->push_back(*progress.last);
              },
              {});
}

}  // namespace

Problem mix_problem(std::int64_t rows, std::int64_t columns) {
  return {kName, {{"rows", rows}, {"columns", columns}}, {{"type", "f32"}}};
}

const Operation& mix_operation() {
  static const Operation operation = make_operation();
  return operation;
}

KernelSet mix_kernels(const std::string& fault) {
  std::string source = kKernel;
  source.replace(source.find("FAULT"), std::strlen("FAULT"), fault);
  std::vector<KernelTemplate> templates;
  templates.push_back(
      {.name = "mix_tiled",
       .space_version = 1,
       .operation = &mix_operation(),
       .source = kept_source(std::move(source)),
       .space = ConfigSpace({{"TILE", "rows and columns of a block", {8, 16}}}, {}),
       .signature =
           [](const Problem&) {
             using enum ArgumentKind;
             return KernelSignature{{tensor, 0}, {tensor, 1}, {tensor, 2}, {tensor, 3},
                                    {tensor, 4}, {size, 0},   {size, 1}};
           },
       .supports = [](const Problem&) { return true; },
       .default_configuration =
           [](const Problem&) {
             return Configuration({{"TILE", 16}});
           },
       .geometry =
           [](const Configuration& c, const Problem& problem) {
             const std::int64_t tile = c.at("TILE");
             return LaunchGeometry{.grid = {tiles(problem, tile), 1, 1}, .block = {tile, tile, 1}};
           },
       .shared_bytes = [](const Configuration&) { return std::int64_t{0}; },
       .limiting_problems = {mix_problem(1, 1)}});
  return KernelSet(std::move(templates));
}

void check_mix(const DeviceInfo& device, const WorkerFactory& make_worker) {
  const KernelSet kernels = mix_kernels();
  TuningDatabase database = TuningDatabase::in_memory();
  const TuneReport report = tune_mix(kernels, database, device, make_worker);
  CHECK(report.statuses == std::map<TrialStatus, std::int64_t>{{TrialStatus::ok, 2}});
  REQUIRE(report.problems.at(0).winner);
  const Winner& winner = *report.problems[0].winner;
  CHECK(winner.verification.integers_exact);
  CHECK(winner.verification.max_error_ratio > 0);
  CHECK(winner.verification.max_error_ratio <= 1);
  const DeviceQuery query{.kernels = kernels, .device_class = device.device_class()};
  const std::optional<Match> exact = find_best(&database, query, mix_problem(70, 33), true);
  REQUIRE(exact);
  CHECK(exact->winner.configuration == winner.configuration);
}

void check_mix_faults(const DeviceInfo& device, const WorkerFactory& make_worker) {
  const auto check = [&](const std::string& fault, TrialStatus status, const std::string& detail) {
    const KernelSet kernels = mix_kernels(fault);
    TuningDatabase database = TuningDatabase::in_memory();
    std::vector<Trial> trials;
    tune_mix(kernels, database, device, make_worker, &trials);
    CHECK(trials.size() == 2);
    for (const Trial& trial : trials) {
      CAPTURE(fault);
      CHECK(trial.status == status);
      CHECK(trial.detail == detail);
    }
  };
  const std::string last = "if (row == 69 && column == 32) ";
  using enum TrialStatus;
  check(last + "turned[column * rows + row] += 1;", wrong_result,
        "1 of 2310 elements of turned are wrong on integers, the first in row 32, column 69");
  check(last + "out[i] += 1;", wrong_result,
        "1 of 2310 elements of out are wrong on integers, the first in row 69, column 32");
  check(last + "out[rows * columns] = 0;", out_of_bounds,
        "wrote to 1 word outside of the output out on integers");
  check(last + "turned[-1] = 0;", out_of_bounds,
        "wrote to 1 word outside of the output turned on integers");
}

}  // namespace autotune::test
