#include "api/remembered_results.hpp"

namespace autotune {

RememberedResults::Key RememberedResults::key_of(const ResultFilter& filter) {
  return {filter.device_class, filter.device_label, filter.operation, filter.problem,
          filter.max_error};
}

bool RememberedResults::is_listed_as_absent(const ResultFilter& filter) const {
  if (filter.problem == Problem()) return false;
  ResultFilter all = filter;
  all.problem = Problem();
  all.operation = filter.problem.operation();
  const auto list = problems_.find(key_of(all));
  return list != problems_.end() && !list->second.contains(filter.problem);
}

std::vector<Winner> RememberedResults::results(Results& known, const ResultFilter& filter,
                                               Read read) const {
  const Key key = key_of(filter);
  if (const auto found = known.find(key); found != known.end()) return found->second;
  // The products that an application asks for have no end, so what is absent is not kept for each.
  if (file_ == nullptr || is_listed_as_absent(filter)) return {};
  return known.emplace(key, (file_->*read)(filter)).first->second;
}

std::vector<Winner> RememberedResults::winners(const ResultFilter& filter) const {
  return results(winners_, filter, &ResultReader::winners);
}

std::vector<Winner> RememberedResults::best_trials(const ResultFilter& filter) const {
  return results(best_trials_, filter, &ResultReader::best_trials);
}

void RememberedResults::visit_problems(const ResultFilter& filter,
                                       const std::function<void(const Problem&)>& visit) const {
  auto list = problems_.find(key_of(filter));
  if (list == problems_.end()) {
    if (file_ == nullptr) return;
    std::set<Problem> problems;
    file_->visit_problems(filter, [&](const Problem& problem) { problems.insert(problem); });
    list = problems_.emplace(key_of(filter), std::move(problems)).first;
  }
  for (const Problem& problem : list->second) visit(problem);
}

}  // namespace autotune
