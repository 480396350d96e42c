#include "tuner/measure/cpu_workspace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "operation/memory_requirement.hpp"

namespace autotune {
namespace {

constexpr const char* kIntegers = "reference_integers";
constexpr const char* kReals = "reference_real";

std::string compiled(const CpuCompiler& compiler, const ReferenceCode& code) {
  std::vector<std::string> options;
  for (const std::string& macro : code.macros) options.push_back("-D" + macro);
  CpuCompileResult result =
      compiler.compile(std::vector<std::string>{kIntegers, kReals}, code.text, options);
  if (result.ok) return std::move(result.image);
  throw EnvironmentError(fmt::format("{} does not compile the reference of the operation: {}",
                                     compiler.path(), result.log.substr(0, result.log.find('\n'))));
}

std::uint64_t address(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

// Integer types have integers in both sets of data.
ElementBuffer filled_reals(const TensorDesc& tensor, InputData input, std::uint64_t seed,
                           bool is_first, ThreadPool& pool) {
  if (is_integer(tensor.type)) return random_integers(tensor.type, tensor.elements(), seed, pool);
  if (input == InputData::uniform) {
    return random_uniform(tensor.type, tensor.elements(), seed, pool);
  }
  const double first = is_first ? 0 : 1;
  return linear(tensor.type, tensor.elements(), first, 1 - first, pool);
}

// Finds out which tiles the reference divides an output into, from what its block 0 writes to the
// first row and column of the FP64 values.
class ReferenceProbe {
 public:
  explicit ReferenceProbe(CpuWorkspace::Output& output)
      : output_(output.result.description()),
        values_(reinterpret_cast<double*>(output.expected.data())) {
    for (std::int64_t row = 0; row < output_.rows; ++row) at(row, 0) = kUnwritten;
    for (std::int64_t column = 0; column < output_.columns; ++column) at(0, column) = kUnwritten;
  }

  [[nodiscard]] std::optional<TileGrid> grid(std::int64_t blocks) const {
    return tile_grid(output_, blocks, [&](std::int64_t row, std::int64_t column) {
      return !std::isnan(at(row, column));
    });
  }

 private:
  static constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] double& at(std::int64_t row, std::int64_t column) const {
    return values_[row * output_.columns + column];
  }

  const TensorDesc& output_;
  double* values_;
};

}  // namespace

CpuReference::CpuReference(const CpuCompiler& compiler, CpuLauncher& launcher,
                           const ReferenceCode& code)
    : CpuReference(launcher, compiled(compiler, code)) {}

CpuReference::CpuReference(CpuLauncher& launcher, const std::string& image)
    : integers(launcher.load(image, kIntegers)), reals(launcher.load(image, kReals)) {}

CpuWorkspace::CpuWorkspace(CpuLauncher& launcher, const MeasureRequest& request)
    : launcher_(launcher), data_(request.data), input_(request.input), seed_(request.seed) {
  const auto inputs = std::ranges::count_if(
      data_.tensors, [](const TensorDesc& tensor) { return tensor.role == TensorRole::input; });
  for (const TensorDesc& tensor : data_.tensors) {
    const std::int64_t elements = tensor.elements();
    if (tensor.role == TensorRole::input) {
      const std::uint64_t seed = static_cast<std::uint64_t>(inputs) * seed_ + inputs_.size();
      inputs_.push_back({random_integers(tensor.type, elements, seed, launcher_.pool()),
                         filled_reals(tensor, input_, seed, inputs_.empty(), launcher_.pool())});
    } else {
      outputs_.push_back(
          {PoisonedTensor(with_guard_rows(tensor)), ElementBuffer(tensor.type, elements),
           ElementBuffer(ElementType::f64, elements), ElementBuffer(ElementType::f32, elements)});
    }
  }
}

bool CpuWorkspace::serves(const MeasureRequest& request) const {
  return input_ == request.input && seed_ == request.seed && same_results(data_, request.data);
}

std::vector<LaunchValues::Tensor> CpuWorkspace::placed(DataSet data) const {
  std::vector<LaunchValues::Tensor> result;
  auto input = inputs_.begin();
  auto output = outputs_.begin();
  for (const TensorDesc& tensor : data_.tensors) {
    if (tensor.role == TensorRole::input) {
      const ElementBuffer& buffer = data == DataSet::integers ? input->integers : input->reals;
      result.push_back({address(buffer.data()), tensor.row_stride, tensor.matrix_stride});
      ++input;
    } else {
      const TensorDesc& guarded = output->result.description();
      result.push_back({address(output->result.data()), guarded.row_stride, guarded.matrix_stride});
      ++output;
    }
  }
  return result;
}

void CpuWorkspace::poison() {
  for (Output& output : outputs_) output.result.poison(launcher_.pool());
}

void CpuWorkspace::compute_references(const CpuReference& kernels, DataSet data,
                                      std::span<const std::vector<Rectangle>> parts) {
  std::vector<std::int64_t> blocks;
  if (parts.empty() || !find_reference_grids(kernels)) {
    blocks.resize(static_cast<std::size_t>(data_.reference.blocks));
    std::iota(blocks.begin(), blocks.end(), 0);
  } else {
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      for (const Rectangle& part : parts[i]) {
        const std::vector<std::int64_t> more =
            outputs_[i].reference_grid->overlapping(part, outputs_[i].result.description());
        blocks.insert(blocks.end(), more.begin(), more.end());
      }
    }
  }
  run_reference(kernels, data, blocks);
}

// Runs those of the blocks that were not run before.
void CpuWorkspace::run_reference(const CpuReference& kernels, DataSet data,
                                 std::span<const std::int64_t> blocks) {
  const bool is_exact = data == DataSet::integers;
  std::set<std::int64_t>& computed = is_exact ? computed_integers_ : computed_reals_;
  if (std::ssize(computed) == data_.reference.blocks) return;
  std::vector<std::int64_t> missing;
  for (const std::int64_t block : blocks) {
    if (computed.insert(block).second) missing.push_back(block);
  }
  std::vector<std::uint64_t> inputs, outputs;
  for (const Input& input : inputs_) {
    inputs.push_back(address((is_exact ? input.integers : input.reals).data()));
  }
  for (const Output& output : outputs_) {
    outputs.push_back(address((is_exact ? output.expected_integers : output.expected).data()));
    if (!is_exact) outputs.push_back(address(output.magnitudes.data()));
  }
  ReferenceArguments arguments(data_.reference, inputs, outputs);
  const auto fault =
      launcher_.launch(is_exact ? kernels.integers : kernels.reals, arguments.pointers(),
                       reference_geometry(data_.reference), missing);
  if (!fault) return;
  computed.clear();
  throw Error("the reference of the operation fails: " + *fault);
}

// Returns whether each output has a grid.
bool CpuWorkspace::find_reference_grids(const CpuReference& kernels) {
  const auto has_grid = [](const Output& output) { return output.reference_grid.has_value(); };
  if (std::ranges::all_of(outputs_, has_grid)) return true;
  if (!computed_reals_.empty()) return false;  // they were looked for before
  std::vector<ReferenceProbe> probes(outputs_.begin(), outputs_.end());
  const std::int64_t first[] = {0};
  run_reference(kernels, DataSet::reals, first);
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    outputs_[i].reference_grid = probes[i].grid(data_.reference.blocks);
  }
  return std::ranges::all_of(outputs_, has_grid);
}

}  // namespace autotune
