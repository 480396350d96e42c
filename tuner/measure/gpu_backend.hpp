// Launches and checks kernels on a GPU. The caller's current context is restored.
#pragma once

#include <memory>

#include "core/device_info.hpp"
#include "gpu/context.hpp"
#include "gpu/module.hpp"
#include "gpu/nvrtc.hpp"
#include "tuner/measure/measurer.hpp"

namespace autotune {

class GpuBackend : public MeasureBackend {
 public:
  // Throws EnvironmentError if there is no driver or no such device, or if NVRTC does not support
  // the device.
  GpuBackend(int ordinal, std::shared_ptr<const gpu::Nvrtc> nvrtc);
  ~GpuBackend() override;

  // Makes the device's context current; hold it around measure() and calibrate().
  [[nodiscard]] gpu::ContextGuard enter() const { return gpu::ContextGuard(context_); }

  CalibrateReply calibrate();

  void compile_kernels(const ProblemData& data) override;
  std::string provide(const MeasureRequest& request) override;
  std::string load(const MeasureRequest& request) override;
  void prepare_launch() override;
  void poison(DataSet data, Poison poison) override;
  double launch(DataSet data) override;
  CheckOutcome check(DataSet data, const std::string& when, Finding& finding) override;
  void store_results() override;
  std::string changed_input(DataSet data) override;
  [[nodiscard]] double least_us(const ProblemData& data) override;
  Timing time(const TimingPlan& plan, double estimate_us) override;
  [[nodiscard]] bool is_out_of_memory(const Error& error) const override;
  [[nodiscard]] bool is_poisoned(const Error& error) const override;
  void discard(TrialStatus status) override;

 private:
  struct Objects;  // all that lives in the context
  struct Loaded;   // the request under way

  const gpu::Module& calibration_kernels();
  [[nodiscard]] LaunchValues values(DataSet data) const;
  [[nodiscard]] Finding read_findings();
  [[nodiscard]] WrongOutput wrong_output(std::size_t output, DataSet data, const Finding& finding);
  void enqueue(DataSet data);

  std::shared_ptr<const gpu::Nvrtc> nvrtc_;
  std::shared_ptr<const gpu::Driver> driver_;
  DeviceInfo device_;
  gpu::PrimaryContext context_;
  std::unique_ptr<Objects> objects_;
  std::unique_ptr<Loaded> loaded_;
};

}  // namespace autotune
