// The trials that several runs on one database share: a run claims a trial before it makes it,
// releases it once it is stored, and learns what the others have stored.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.hpp"
#include "db/tuning_database.hpp"
#include "tuner/run/search_task.hpp"

namespace autotune {

// A run makes a trial only after it has claimed the trial and then called learn(), which has not
// found it. It keeps the claim until the trial is stored. So no trial is made twice.
//
// A claim is a lock on one byte of an empty file next to the database, at an offset that is the
// trial's hash. The kernel gives up the locks of a run that ends, however it ends.
class SharedTrials {
 public:
  using Key = std::int64_t;
  using Scopes = std::map<const KernelTemplate*, TrialScope>;

  // `scopes` has the templates that are searched, and `run_guid` identifies this run. A run that is
  // `fresh` neither claims nor learns. `database` outlives this object.
  SharedTrials(TuningDatabase& database, Scopes scopes, std::string run_guid, bool fresh = false);

  // Opens the file of claims. Every claim succeeds before this call, and also for a database in
  // memory, for a fresh run, and if the file cannot be made.
  void open_claims();

  [[nodiscard]] const TrialScope& scope_of(const KernelTemplate& kernel) const {
    return scopes_.at(&kernel);
  }
  [[nodiscard]] Key key_of(const KernelTemplate& kernel, const Problem& problem,
                           const Configuration& configuration) const;
  // Returns false when another run, or another object of this class, has claimed the trial. claim()
  // and release() are thread-safe.
  [[nodiscard]] bool claim(Key key) const;
  void release(Key key) const;

  // Gives the tasks the stored trials: at the first call all, then those that other runs have
  // stored since the last call. Throws StorageError.
  // Trials with times that are not possible by the device's rates are left out.
  void load(std::vector<SearchTask>& tasks, const std::optional<DeviceRates>& rates);
  // Does the same during the search, but leaves trials that cannot be read for the next call.
  void learn(std::vector<SearchTask>& tasks, const std::optional<DeviceRates>& rates);

 private:
  TuningDatabase& database_;
  Scopes scopes_;
  std::string run_guid_;
  bool fresh_;
  std::map<const KernelTemplate*, std::int64_t> last_rows_;  // of the trials that were loaded
  FileDescriptor claims_;
};

}  // namespace autotune
