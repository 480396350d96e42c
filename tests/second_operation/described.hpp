// An operation as a user describes one: its results are judged by a kernel that is launched on the
// same data, within tolerances. c = factor * a[index], which is also added to `total`, an inout.
#pragma once

#include <string>
#include <vector>

#include "tuner/worker/worker.hpp"

namespace autotune::test {

// Measures variants of one kernel. The compiler's options are those for the device.
class DescribedBench {
 public:
  static constexpr std::int64_t kCount = 200;

  DescribedBench(const WorkerFactory& make_worker, std::vector<std::string> options);

  // `before` is put in front of the kernel's stores and `behind` behind them; they see i, n, value
  // and all arguments. `outside` is put in front of the kernel.
  MeasureReply measure(const std::string& before = "", const std::string& behind = "",
                       const std::string& outside = "");
  // Returns why a worker refuses to judge by this reference.
  std::string refusal(const std::string& before, const std::string& behind);

  MeasureRequest request;

 private:
  WorkerOutcome outcome_of(const std::string& source);

  std::unique_ptr<Worker> worker_;
  std::vector<std::string> options_;
};

// Checks on any device.
void check_described(const WorkerFactory& make_worker, const std::vector<std::string>& options);
void check_described_faults(const WorkerFactory& make_worker,
                            const std::vector<std::string>& options);
void check_described_tolerances(const WorkerFactory& make_worker,
                                const std::vector<std::string>& options);
void check_faulty_references(const WorkerFactory& make_worker,
                             const std::vector<std::string>& options);
void check_files(const WorkerFactory& make_worker, const std::vector<std::string>& options);

}  // namespace autotune::test
