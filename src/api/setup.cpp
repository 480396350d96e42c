#include "api/setup.hpp"

#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/posix/host_resources.hpp"
#include "cpu/device.hpp"
#include "db/default_paths.hpp"
#include "db/locked_file.hpp"
#include "db/shipped_winners.hpp"
#include "operation/gemm/gemm.hpp"
#include "select/predictor.hpp"
#include "tuner/measure/cpu_service.hpp"
#include "tuner/measure/gpu_service.hpp"

namespace autotune {
namespace {

// From benchmarks/statement/searches.py, whose output is
// benchmarks/results/statement/searches.txt: of searches that begin with a shipped winner, all that
// end at 98 % by this patience are right. Of others too many are wrong by any.
constexpr double kPatienceWithWinner = 20;

// The winner that ships for this very problem and this device, or else one like it.
const Winner* shipped_winner(const DeviceInfo& device, const Problem& problem) {
  const DeviceClass own_class = parse_device_class(device.device_class());
  const Winner* found = nullptr;
  for (const Winner* winner : shipped_winners({.problem = problem})) {
    if (winner->device_class == device.device_class()) return winner;
    if (are_alike(parse_device_class(winner->device_class), own_class)) found = winner;
  }
  return found;
}

// The shipped winner, then the portfolio's predictions.
Expectation expectation_of(const ShippedPortfolios& portfolios, const DeviceInfo& device,
                           const Problem& problem, bool use_shipped) {
  if (problem.operation() != kGemm) return {};
  Expectation expectation = {.suggestions = {}, .patience = 0};
  const PredictedDevice predicted = predicted_device(device);
  if (!use_shipped || !predicted.has_model()) return expectation;
  const GemmProblem gemm = gemm_problem(problem);
  // What is fast by a stricter math is a candidate too.
  for (const GemmProblem& stricter : with_stricter_maths(gemm)) {
    const Winner* const winner = shipped_winner(device, stricter);
    if (winner == nullptr) continue;
    const KernelTemplate* kernel = portfolios.kernels().find(winner->template_name);
    if (kernel != nullptr && kernel->space_version == winner->space_version) {
      expectation.suggestions.push_back({kernel, kernel->space.validated(winner->configuration)});
      if (gemm.math == Math::strict) expectation.patience = kPatienceWithWinner;
    }
  }
  const CodeTraits traits = unpadded_traits(gemm_operation(), problem);
  for (Prediction& one :
       predict({.problem = gemm, .aligned = traits.aligned, .device = predicted, .known = {}},
               portfolios.of(gemm.math))) {
    expectation.suggestions.push_back({one.kernel, std::move(one.configuration)});
  }
  return expectation;
}

TunerSetup setup_of(const ShippedPortfolios& portfolios, const std::vector<DeviceInfo>& devices,
                    WorkerFactory make_compile_worker,
                    const std::function<WorkerFactory(const DeviceInfo&)>& measuring) {
  TunerSetup setup{.kernels = portfolios.kernels()};
  setup.device = devices.front();
  setup.make_compile_worker = std::move(make_compile_worker);
  for (const DeviceInfo& device : devices) {
    setup.measuring.push_back({.info = device, .make_worker = measuring(device), .reserve = {}});
  }
  setup.compile_jobs = compile_jobs_for(usable_cores(), available_memory_bytes());
  setup.expect = [&portfolios, device = setup.device](const Problem& problem, bool use_shipped) {
    return expectation_of(portfolios, device, problem, use_shipped);
  };
  return setup;
}

TuningDatabase open_waiting(const std::filesystem::path& path, const DatabaseWait& wait) {
  constexpr std::chrono::milliseconds kUnnoticed(2000);
  try {
    if (wait.begins) static_cast<void>(TuningDatabase::open(path, kUnnoticed));
  } catch (const LockedFile&) {
    wait.begins();
  }
  return TuningDatabase::open(path, wait.longest);
}

void check_place(const DatabasePlace& place) {
  if (!place.problem.empty()) throw StorageError(place.problem);
  if (place.is_of_environment) check_folder_of_environment(place.path);
}

}  // namespace

DatabasePlace database_place(const std::string& named) {
  if (!named.empty()) return {.path = named, .is_named = true, .problem = {}};
  try {
    return {.path = default_database_path(),
            .is_of_environment = database_of_environment().has_value(),
            .problem = {}};
  } catch (const StorageError& error) {
    return {.path = {}, .problem = error.what()};
  }
}

OpenedDatabase open_results(const DatabasePlace& place, const DatabaseWait& wait) {
  if (place.is_named) return {open_waiting(place.path, wait), ""};
  try {
    check_place(place);
    return {open_waiting(place.path, wait), ""};
  } catch (const StorageError& error) {
    return {TuningDatabase::in_memory(), error.what()};
  }
}

std::optional<TuningDatabase> read_results(const DatabasePlace& place,
                                           std::chrono::milliseconds longest_wait) {
  if (place.is_named) return TuningDatabase::open_read_only(place.path, longest_wait);
  check_place(place);
  return TuningDatabase::open_unnamed_read_only(place.path, longest_wait);
}

CubinStore open_cubin_store() {
  const auto path = default_cubin_store_path();
  return path ? CubinStore::open(*path) : CubinStore::disabled();
}

CubinStore cubin_store_for_calls() {
  const auto path = default_cubin_store_path();
  return path ? CubinStore::open_at_use(*path, kCallWait) : CubinStore::disabled();
}

std::unique_ptr<WorkerService> make_service(const DeviceInfo& device) {
  return device.is_cpu() ? make_cpu_service() : make_gpu_service(device.ordinal);
}

TunerSetup in_process_setup(const ShippedPortfolios& portfolios, const DeviceInfo& device) {
  const auto make_worker = [device] { return make_in_process_worker(make_service(device)); };
  return setup_of(portfolios, {device}, make_worker,
                  [&](const DeviceInfo&) { return make_worker; });
}

TunerSetup isolated_setup(const ShippedPortfolios& portfolios,
                          const std::vector<DeviceInfo>& devices,
                          const std::filesystem::path& program) {
  const auto maker = [&](const DeviceInfo& device, std::int64_t memory_bytes) -> WorkerFactory {
    return [=, ordinal = device.ordinal] {
      return make_process_worker(program, ordinal, memory_bytes);
    };
  };
  return setup_of(portfolios, devices, maker(devices.front(), kCompileMemoryBytes),
                  [&](const DeviceInfo& device) { return maker(device, 0); });
}

}  // namespace autotune
