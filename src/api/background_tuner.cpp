#include "api/background_tuner.hpp"

#include <exception>
#include <string>
#include <utility>

#include "core/error_text.hpp"
#include "core/posix/quiet_thread.hpp"
#include "core/start_thread.hpp"

namespace autotune {
namespace {

// A stale winner is as good as it was if it takes no longer than this. Medians of one kernel differ
// by less from process to process.
constexpr double kAsGood = 1.05;

}  // namespace

void BackgroundTuner::add(Untuned product) {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return;
  if (!seen_.emplace(product.device.device_class(), product.problem).second) return;
  queue_.push_back(std::make_unique<const Untuned>(std::move(product)));
  if (!thread_.joinable()) {
    thread_ = start_thread([this](const std::stop_token& closing) { work(closing); });
  }
  changed_.notify_all();
}

void BackgroundTuner::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    running_.request_stop();
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

BackgroundTuner::Pause::Pause(BackgroundTuner* tuner) : tuner_(tuner) {
  if (tuner_ == nullptr) return;
  const std::lock_guard lock(tuner_->mutex_);
  ++tuner_->pauses_;
  tuner_->running_.request_stop();
}

BackgroundTuner::Pause::~Pause() {
  if (tuner_ == nullptr) return;
  {
    const std::lock_guard lock(tuner_->mutex_);
    --tuner_->pauses_;
  }
  tuner_->changed_.notify_all();
}

void BackgroundTuner::work(const std::stop_token& closing) {
  be_a_quiet_thread();
  while (true) {
    const Untuned* product = nullptr;
    std::stop_token stop;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, closing, [this] { return pauses_ == 0 && !queue_.empty(); });
      if (is_closed_) return;
      product = queue_.front().get();
      running_ = std::stop_source();
      stop = running_.get_token();
    }
    bool is_done = true;
    try {
      is_done = tune(*product, stop);
    } catch (const std::exception& error) {
      log_.warning("{} is not tuned in the background: {}", text_of(product->problem),
                   error_text(error));
    }
    const std::lock_guard lock(mutex_);
    if (is_done) queue_.pop_front();
  }
}

bool BackgroundTuner::tune(const Untuned& product, const std::stop_token& stop) {
  const std::string text = text_of(product.problem);
  log_.info("{} is tuned in the background", text);
  if (product.is_stale && holds(product, stop)) {
    log_.info("{}: the kernel is as fast as it was", text);
    work_.use(product.device, product.problem);
    return true;
  }
  if (stop.stop_requested()) return false;
  const TuneReport report = work_.tune(product.device, request_for(product), stop);
  if (report.interrupted) return false;
  if (!report.failure.empty()) log_.warning("{} in the background: {}", text, report.failure);
  if (!report.problems.front().winner) {
    log_.warning("{} has no winner from the background: {}", text,
                 why_no_winner(report.problems.front()));
    return true;
  }
  work_.use(product.device, product.problem);
  log_.info("{} was tuned in the background by {} trials: it takes {:.1f} us by {}", text,
            report.measured, report.problems.front().winner->median_us,
            report.problems.front().winner->template_name);
  return true;
}

bool BackgroundTuner::holds(const Untuned& product, const std::stop_token& stop) {
  const Winner& stale = product.in_use;
  TuneRequest request = request_for(product);
  request.templates = {work_.kernels.find(stale.template_name)};
  for (const auto& [name, value] : stale.configuration.entries()) {
    request.filter.only[name] = {value};
  }
  request.budget = {.trials = 1};
  const TuneReport report = work_.tune(product.device, request, stop);
  const std::optional<Winner>& now = report.problems.front().winner;
  return !report.interrupted && report.failure.empty() && now &&
         now->configuration == stale.configuration && now->median_us <= kAsGood * stale.median_us;
}

TuneRequest BackgroundTuner::request_for(const Untuned& product) const {
  TuneRequest request;
  request.problems = {product.problem};
  request.budget.seconds = work_.budget_s;
  request.use_shipped_winners = work_.use_shipped_winners;
  request.begin_with = {product.in_use};
  request.command = "Library, in the background";
  return request;
}

}  // namespace autotune
