// Prints the errors of products by kind of data and K: of cuBLAS SGEMM, of one FP32 chain over K,
// and of every kernel template with its default configuration.
//
//   accuracy --math emulated,tf32 --output errors.json
//
// A figure is the relative Frobenius error, and in parentheses the maximum of
// |error| / (2^-24 |A||B|). A figure with a ! is more than a kernel that is as accurate as FP32 may
// have: the larger of the chain's and 1.1 times cuBLAS's. An FP64 sum is taken for exact.
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

#include "baseline/cublas.hpp"
#include "core/compile_target.hpp"
#include "data.hpp"
#include "gpu/context.hpp"
#include "gpu/device.hpp"
#include "gpu/kernel_arguments.hpp"
#include "gpu/memory.hpp"
#include "gpu/module.hpp"
#include "gpu/nvrtc.hpp"
#include "gpu/workspace.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "operation/gemm/gemm.hpp"

namespace autotune {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::vector<std::int64_t> depths = {1, 4, 16, 64, 256, 1024, 4096, 16384, 65536};
  std::vector<std::string> maths = {"emulated"};
  std::string output;
};

struct Machine {
  std::shared_ptr<const gpu::Driver> driver = gpu::Driver::open();
  std::shared_ptr<const gpu::Nvrtc> nvrtc = gpu::Nvrtc::open();
  DeviceInfo device = gpu::read_device(*driver, 0);
  std::string target = compile_target(device, nvrtc->architectures());
  gpu::PrimaryContext context{driver, 0};
  gpu::ContextGuard current{context};
  gpu::Stream stream{*driver};
  gpu::Cublas cublas{*driver, stream};
  gpu::Workspace workspace{*driver};
};

// The exact product and |A||B|.
struct Reference {
  std::vector<double> product, magnitude;
};

struct Errors {
  double frobenius = 0;
  double greatest = 0;     // of |error| / (2^-24 |A||B|)
  std::int64_t other = 0;  // results of another class than the chain's: finite, infinity or NaN
};

// Calls add(result, of_a, of_b) for all products, in the order of K.
template <typename Add>
void for_each_product(const Operands& data, Add add) {
  const auto [m, n, k] = std::tuple(data.problem.m, data.problem.n, data.problem.k);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t at = 0; at < k; ++at) {
      const float of_a = data.a[static_cast<std::size_t>(row * k + at)];
      const float* const of_b = data.b.data() + at * n;
      for (std::int64_t i = 0; i < n; ++i)
        add(static_cast<std::size_t>(row * n + i), of_a, of_b[i]);
    }
  }
}

Reference reference(const Operands& data) {
  const auto count = static_cast<std::size_t>(data.problem.m * data.problem.n);
  Reference result{std::vector<double>(count), std::vector<double>(count)};
  for_each_product(data, [&](std::size_t i, double a, double b) {
    result.product[i] = std::fma(a, b, result.product[i]);
    result.magnitude[i] += std::abs(a * b);
  });
  return result;
}

std::vector<float> chain(const Operands& data) {
  std::vector<float> result(static_cast<std::size_t>(data.problem.m * data.problem.n));
  for_each_product(data,
                   [&](std::size_t i, float a, float b) { result[i] = std::fma(a, b, result[i]); });
  return result;
}

Errors errors(const std::vector<float>& result, const Reference& exact,
              const std::vector<float>& of_chain) {
  Errors found;
  double squares = 0;
  double size = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    found.other += std::fpclassify(result[i]) != std::fpclassify(of_chain[i]) &&
                   !(std::isfinite(result[i]) && std::isfinite(of_chain[i]));
    if (!std::isfinite(result[i]) || !std::isfinite(of_chain[i])) continue;
    const double error = result[i] - exact.product[i];
    squares += error * error;
    size += exact.product[i] * exact.product[i];
    // FP32 has no results between 0 and this, so errors below it are its own.
    const double unit = 0x1p-24 * exact.magnitude[i] + 0x1p-150;
    found.greatest = std::max(found.greatest, std::abs(error) / unit);
  }
  found.frobenius = size > 0 ? std::sqrt(squares / size) : 0;
  return found;
}

// The operands on the device, and C.
class OnDevice {
 public:
  OnDevice(Machine& machine, const Operands& data)
      : machine_(machine),
        problem_(data.problem),
        a_(*machine.driver, 4 * data.a.size()),
        b_(*machine.driver, 4 * data.b.size()),
        c_(*machine.driver, static_cast<std::size_t>(4 * problem_.m * problem_.n)) {
    a_.copy_from_host(data.a.data(), a_.size(), machine.stream);
    b_.copy_from_host(data.b.data(), b_.size(), machine.stream);
  }

  [[nodiscard]] std::vector<float> of_cublas() const {
    machine_.cublas.gemm(problem_, 1, {a_.address(), problem_.lda()},
                         {b_.address(), problem_.ldb()}, 0, {c_.address(), problem_.ldc()});
    return result();
  }
  [[nodiscard]] std::vector<float> of_kernel(const KernelTemplate& kernel,
                                             const gpu::Kernel& loaded,
                                             const Configuration& configuration) const {
    const LaunchGeometry geometry =
        kernel.geometry(configuration, problem_).on_device(machine_.device.sm_count).without_maps();
    const LaunchValues::Tensor tensors[] = {{a_.address(), problem_.lda()},
                                            {b_.address(), problem_.ldb()},
                                            {c_.address(), problem_.ldc()}};
    const std::int64_t sizes[] = {problem_.m, problem_.n, problem_.k};
    const double scalars[] = {1, 0};
    const std::uint64_t workspace =
        machine_.workspace.reserve(geometry.workspace_bytes(), machine_.stream.handle());
    gpu::KernelArguments arguments(*machine_.driver, ArgumentLayout(kernel.signature(problem_)),
                                   geometry, kernel.operation->tensors(problem_),
                                   {.tensors = tensors,
                                    .sizes = sizes,
                                    .scalars = scalars,
                                    .workspace = workspace,
                                    .raster = static_cast<std::uint32_t>(geometry.raster)});
    c_.fill(0x7fc12345, 0, c_.size(), machine_.stream);
    loaded.allow_dynamic_shared(geometry);
    loaded.launch(geometry, arguments.pointers(), machine_.stream);
    return result();
  }

 private:
  [[nodiscard]] std::vector<float> result() const {
    std::vector<float> values(c_.size() / 4);
    c_.copy_to_host(values.data(), c_.size(), machine_.stream);
    machine_.stream.synchronize();
    return values;
  }

  Machine& machine_;
  GemmProblem problem_;
  gpu::DeviceBuffer a_, b_, c_;
};

class Table {
 public:
  Table(Machine& machine, const Options& options) : machine_(machine), options_(options) {}

  [[nodiscard]] ordered_json lines() const { return lines_; }

  void add(const KindOfData& kind, std::int64_t depth) {
    GemmProblem problem{.m = 70, .n = 100, .k = depth};
    const Operands data = kind.make(problem);
    const Reference exact = reference(data);
    const std::vector<float> of_chain = chain(data);
    const OnDevice device(machine_, data);
    const Errors fp32 = errors(of_chain, exact, of_chain);
    const Errors cublas = errors(device.of_cublas(), exact, of_chain);
    const Errors most{std::max(fp32.frobenius, 1.1 * cublas.frobenius),
                      std::max(fp32.greatest, 1.1 * cublas.greatest)};
    line_ = {{"data", kind.name}, {"k", depth}};
    fmt::print("{} K {}\n", kind.name, depth);
    print("FP32 chain", fp32, nullptr);
    print("cuBLAS SGEMM", cublas, nullptr);
    for (const std::string& math : options_.maths) {
      problem.math = math_from_string(math);
      for (const KernelTemplate& kernel : built_in_kernels().templates()) {
        const bool is_strict = problem.math != Math::strict &&
                               kernel.supports(GemmProblem{problem.m, problem.n, problem.k});
        const DeviceInfo& info = machine_.device;
        if (is_strict || !computes(kernel, problem) ||
            !runs_on(kernel, 10 * info.compute_major + info.compute_minor)) {
          continue;
        }
        print(fmt::format("{} {}", math, kernel.name),
              errors(result_of(kernel, problem, device), exact, of_chain), &most);
      }
    }
    lines_.push_back(line_);
    std::fflush(stdout);
  }

 private:
  [[nodiscard]] std::vector<float> result_of(const KernelTemplate& kernel,
                                             const GemmProblem& problem, const OnDevice& device) {
    const Configuration configuration = kernel.default_configuration(problem);
    const CodeTraits traits{code_macros(kernel, problem), /*aligned=*/false};
    std::vector<std::string> options =
        compile_options(kernel, configuration, traits, machine_.target);
    options.push_back(kernel.name);
    const auto [place, is_new] = modules_.try_emplace(options);
    if (is_new) {
      options.pop_back();
      const gpu::CompileResult compiled =
          machine_.nvrtc->compile(kernel.name, std::string(kernel.source), options);
      if (!compiled.ok) throw Error(compiled.log);
      place->second = std::make_unique<gpu::Module>(*machine_.driver, compiled.image);
    }
    return device.of_kernel(kernel, place->second->kernel(kernel.name), configuration);
  }

  void print(const std::string& name, const Errors& found, const Errors* most) {
    const bool above = most != nullptr && (found.frobenius > most->frobenius ||
                                           found.greatest > most->greatest || found.other > 0);
    fmt::print("  {:<28} {:.2e} ({:.2f}){}{}\n", name, found.frobenius, found.greatest,
               found.other > 0 ? fmt::format(", {} of another class", found.other) : "",
               above ? " !" : "");
    line_[name] = {{"frobenius", found.frobenius},
                   {"greatest", found.greatest},
                   {"other_class", found.other},
                   {"above", above}};
  }

  Machine& machine_;
  const Options& options_;
  std::map<std::vector<std::string>, std::unique_ptr<gpu::Module>> modules_;
  ordered_json line_;
  ordered_json lines_ = ordered_json::array();
};

void run(const Options& options) {
  Machine machine;
  fmt::print("{}, driver {}, cuBLAS {}\n", machine.device.label, machine.device.driver_text(),
             machine.cublas.version());
  Table table(machine, options);
  for (const KindOfData& kind : kinds_of_data()) {
    for (const std::int64_t depth : options.depths) table.add(kind, depth);
  }
  for (const KindOfData& kind : special_kinds_of_data()) {
    for (const std::int64_t depth : {std::int64_t{300}, std::int64_t{2000}}) table.add(kind, depth);
  }
  if (!options.output.empty()) std::ofstream(options.output) << table.lines().dump(1) << "\n";
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  autotune::Options options;
  CLI::App app("Prints the errors of products by kind of data and K.");
  app.add_option("--depths", options.depths, "values of K")->delimiter(',');
  app.add_option("--math", options.maths, "classes of arithmetic")->delimiter(',');
  app.add_option("--output", options.output, "file for the JSON document");
  CLI11_PARSE(app, argc, argv);
  try {
    autotune::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "accuracy: {}\n", error.what());
    return 1;
  }
  return 0;
}
