#include "tuner/run/shared_trials.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>

#include "autotune/error.hpp"

#include "core/hash.hpp"
#include "kernel_templates/possible_time.hpp"

namespace autotune {
namespace {

// The lock belongs to the open file description, so that it also works between two runs in one
// process.
bool set_lock(int file, short type, SharedTrials::Key key) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = key;
  lock.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

}  // namespace

SharedTrials::SharedTrials(TuningDatabase& database, Scopes scopes, std::string run_guid,
                           bool fresh)
    : database_(database),
      scopes_(std::move(scopes)),
      run_guid_(std::move(run_guid)),
      fresh_(fresh) {}

void SharedTrials::open_claims() {
  if (fresh_ || database_.path().empty()) return;
  const std::string path = database_.path().string() + "-claims";
  claims_ = FileDescriptor(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
}

SharedTrials::Key SharedTrials::key_of(const KernelTemplate& kernel, const Problem& problem,
                                       const Configuration& configuration) const {
  constexpr std::size_t kDigits = 15;  // hexadecimal: 60 bits, an offset in a file
  FieldHasher hasher;
  const std::string hash =
      add_scope(hasher, scope_of(kernel)).add(problem.key()).add(to_string(configuration)).digest();
  return std::stoll(hash.substr(0, kDigits), nullptr, 16);
}

bool SharedTrials::claim(Key key) const {
  return claims_.get() < 0 || set_lock(claims_.get(), F_WRLCK, key);
}

void SharedTrials::release(Key key) const {
  if (claims_.get() >= 0) set_lock(claims_.get(), F_UNLCK, key);
}

void SharedTrials::load(std::vector<SearchTask>& tasks, const std::optional<DeviceRates>& rates) {
  if (fresh_) return;
  const bool is_first = last_rows_.empty();
  const std::int64_t last_row = is_first ? database_.last_trial_row() : 0;
  std::map<Problem, std::vector<SearchTask*>> searches;
  for (SearchTask& task : tasks) {
    searches[task.problem()].push_back(&task);
    if (is_first) last_rows_[&task.kernel()] = last_row;
  }
  const auto record = [&](const Trial& trial) {
    const auto of_problem = searches.find(trial.problem);
    if (of_problem == searches.end()) return;
    for (SearchTask* task : of_problem->second) {
      if (task->kernel().name != trial.template_name) continue;
      const double us = trial.measurement.median_us;
      if (trial.ok() && !is_possible_us(task->kernel(), trial.problem, us, rates)) continue;
      task->record_known(trial);
    }
  };
  if (!is_first) {
    for (auto& [kernel, row] : last_rows_) {
      std::ranges::for_each(database_.trials_after(row, scope_of(*kernel), run_guid_), record);
    }
    return;
  }
  for (const auto& [problem, of_problem] : searches) {
    std::vector<TrialScope> scopes;
    for (const SearchTask* task : of_problem) scopes.push_back(scope_of(task->kernel()));
    std::ranges::for_each(database_.trials(scopes, problem), record);
  }
}

void SharedTrials::learn(std::vector<SearchTask>& tasks, const std::optional<DeviceRates>& rates) {
  try {
    load(tasks, rates);
  } catch (const StorageError&) {
    return;
  }
}

}  // namespace autotune
