#include "tuner/run/completion.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/hash.hpp"

namespace autotune {

Completion::Completion(TuningDatabase& database, const TuneRequest& request, bool ends_by_default,
                       std::string device_class, const Environment& environment)
    : database_(database),
      request_(request),
      ends_by_default_(ends_by_default),
      device_class_(std::move(device_class)),
      environment_(environment) {}

std::optional<SearchEnd> Completion::end_of(const SearchTask& task) const {
  return covering(space_key(task) + environment_key(task));
}

bool Completion::complete_in_another_environment(const SearchTask& task) const {
  return covering(space_key(task)).has_value();
}

std::vector<CompletedRequest> Completion::rows(const SearchTask& task, SearchEnd end) const {
  std::vector<CompletedRequest> result;
  CompletedRequest row{.reason = end == SearchEnd::exhausted ? "exhausted" : "budget",
                       .budget_s = request_.budget.seconds.value_or(0),
                       .trials = request_.budget.trials.value_or(0)};
  for (const std::string& where : {environment_key(task), std::string()}) {
    row.key = space_key(task) + where;
    if (end == SearchEnd::budget) row.key += strategy_key();
    if (end == SearchEnd::good_enough) row.key += default_key();
    result.push_back(row);
  }
  return result;
}

std::string Completion::space_key(const SearchTask& task) const {
  std::string key =
      fmt::format("{}|{}|{}/{}|{}", device_class_, task.problem().key(), task.kernel().name,
                  task.kernel().space_version, request_.filter.text());
  // An edit of a user's own kernel may change its space, or make others fast.
  if (task.kernel().operation->named_sizes) key += "|" + content_hash(task.kernel().source);
  // Its finals were held among other trials than those of other requests.
  if (request_.max_error) key += fmt::format("|{}", *request_.max_error);
  if (request_.alternatives.contains(task.asked())) key += "|for " + task.asked().key();
  return key;
}

std::string Completion::environment_key(const SearchTask& task) const {
  return fmt::format("|{}|{}|{}|{}", environment_.driver, environment_.nvrtc_build,
                     environment_.measuring_protocol, content_hash(task.kernel().source));
}

std::string Completion::strategy_key() const {
  return fmt::format("|{}|{}|{}", request_.strategy, request_.seed,
                     request_.budget.trials ? "trials" : "seconds");
}

std::string Completion::default_key() const {
  std::string key = strategy_key() + "|by default";
  for (const KernelTemplate* kernel : request_.templates) key += "|" + kernel->name;
  return key;
}

std::optional<SearchEnd> Completion::covering(const std::string& key) const {
  if (database_.completed(key)) return SearchEnd::exhausted;
  if (covers_budget(key + strategy_key())) return SearchEnd::budget;
  if (ends_by_default_ && database_.completed(key + default_key())) return SearchEnd::good_enough;
  return std::nullopt;
}

bool Completion::covers_budget(const std::string& key) const {
  const std::optional<CompletedRequest> row = database_.completed(key);
  // A search that ended with its budget does not cover one without a budget.
  if (row && request_.budget.unlimited()) return row->budget_s == 0 && row->trials == 0;
  return row && (!request_.budget.seconds || row->budget_s >= *request_.budget.seconds) &&
         (!request_.budget.trials || row->trials >= *request_.budget.trials);
}

}  // namespace autotune
