#include "tuner/measure/cpu_workspace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "core/compiler_log.hpp"
#include "core/hash.hpp"
#include "cpu/npy_file.hpp"
#include "operation/memory_requirement.hpp"
#include "tuner/measure/tensor_data.hpp"

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

// The compiler for a reference. Where there is none, a function of the host has others in its place.
const CpuCompiler& compiler_for(const LaunchedReference& reference,
                                const std::function<const CpuCompiler&()>& compiler) try {
  return compiler();
} catch (const EnvironmentError& error) {
  if (!reference.is_on_host()) throw;
  throw EnvironmentError(fmt::format(
      "the reference {} is a function of the host: {}. What checks without a compiler: another "
      "kernel as reference(NAME), .npy files as reference(OUTPUT = \"FILE.npy\"), or, without a "
      "reference, the default configuration",
      reference.title(), error.what()));
}

std::string image_of(const LaunchedReference& reference, const CpuCompiler& compiler) {
  CpuCompileResult result =
      compiler.compile(reference.name, reference.source, reference.options,
                       reference.is_on_host() ? CpuCode::host : CpuCode::fast);
  if (result.ok) return std::move(result.image);
  throw reference_fault(reference.title(), "it does not compile: " + first_error_line(result.log));
}

std::uint64_t address(const std::byte* memory) {
  return reinterpret_cast<std::uintptr_t>(memory);
}

// The numbers of all blocks of a launch.
std::vector<std::int64_t> all_blocks(std::int64_t count) {
  std::vector<std::int64_t> blocks(static_cast<std::size_t>(count));
  std::iota(blocks.begin(), blocks.end(), 0);
  return blocks;
}

std::string hash_of(const ElementBuffer& buffer) {
  const auto bytes = static_cast<std::size_t>(buffer.count() * size_bytes(buffer.type()));
  return content_hash({reinterpret_cast<const char*>(buffer.data()), bytes});
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

CpuLaunchedReference::CpuLaunchedReference(const std::function<const CpuCompiler&()>& compiler,
                                           CpuLauncher& launcher, LaunchedReference reference)
    : description_(std::move(reference)) {
  const std::string image = image_of(description_, compiler_for(description_, compiler));
  if (description_.is_on_host()) {
    function_.emplace(image, description_.name);
  } else {
    kernel_.emplace(launcher.load(image, description_.name));
  }
}

std::optional<std::string> CpuLaunchedReference::run(CpuLauncher& launcher,
                                                     void** arguments) const {
  if (kernel_) {
    return launcher.launch(*kernel_, arguments, description_.geometry,
                           all_blocks(description_.geometry.blocks()));
  }
  function_->entry().call(arguments);
  return std::nullopt;
}

CpuWorkspace::CpuWorkspace(CpuLauncher& launcher, const MeasureRequest& request)
    : launcher_(launcher), data_(request.data), input_(request.input), seed_(request.seed) {
  for (std::size_t i = 0; i < data_.tensors.size(); ++i) {
    const TensorRole role = data_.tensors[i].role;
    if (is_written(role)) add_output(i);
    if (is_read(role)) add_input(i);
  }
}

void CpuWorkspace::add_input(std::size_t number) {
  const TensorDesc& tensor = data_.tensors[number];
  ThreadPool& pool = launcher_.pool();
  const std::uint64_t seed = input_seed(data_, seed_, inputs_.size());
  const auto own = [&](std::uint64_t own_seed) {
    return content_of(data_.contents[number], tensor, own_seed, pool);
  };
  const bool has_own = !data_.contents.empty();
  Input input{tensor.name,
              has_own && data_.has_tolerances()
                  ? own(second_seed(seed))
                  : random_integers(tensor.type, tensor.elements(), seed, pool),
              has_own ? own(seed) : filled_reals(tensor, input_, seed, inputs_.empty(), pool)};
  if (data_.has_tolerances()) {
    input.integers_hash = hash_of(input.integers);
    input.reals_hash = hash_of(input.reals);
  }
  inputs_.push_back(std::move(input));
}

void CpuWorkspace::add_output(std::size_t number) {
  const TensorDesc& tensor = data_.tensors[number];
  const bool with_tolerance = data_.has_tolerances();
  const std::int64_t elements = tensor.elements();
  Output output{PoisonedTensor(with_guard_rows(tensor)), ElementBuffer(tensor.type, elements),
                ElementBuffer(with_tolerance ? tensor.type : ElementType::f64, elements),
                ElementBuffer(ElementType::f32, with_tolerance ? 0 : elements)};
  if (with_tolerance) output.tolerance = data_.tolerance(number);
  if (is_read(tensor.role)) output.data = inputs_.size();
  outputs_.push_back(std::move(output));
}

bool CpuWorkspace::serves(const MeasureRequest& request) const {
  return input_ == request.input && seed_ == request.seed && same_results(data_, request.data);
}

std::vector<LaunchValues::Tensor> CpuWorkspace::placed(DataSet data) const {
  std::vector<LaunchValues::Tensor> result;
  auto input = inputs_.begin();
  auto output = outputs_.begin();
  for (const TensorDesc& tensor : data_.tensors) {
    const auto own = is_read(tensor.role) ? input++ : inputs_.end();
    if (!is_written(tensor.role)) {
      const ElementBuffer& buffer = data == DataSet::integers ? own->integers : own->reals;
      result.push_back({address(buffer.data()), tensor.row_stride, tensor.matrix_stride});
    } else {
      const TensorDesc& guarded = output->result.description();
      result.push_back({address(output->result.data()), guarded.row_stride, guarded.matrix_stride});
      ++output;
    }
  }
  return result;
}

void CpuWorkspace::poison(DataSet data, Poison poison) {
  for (Output& output : outputs_) {
    output.result.poison(launcher_.pool(), poison);
    if (!output.data) continue;
    const Input& before = inputs_[*output.data];
    output.result.store(data == DataSet::integers ? before.integers : before.reals);
  }
}

std::string CpuWorkspace::changed_input(DataSet data) const {
  for (const Input& input : inputs_) {
    const bool is_first = data == DataSet::integers;
    const std::string& hash = is_first ? input.integers_hash : input.reals_hash;
    if (hash_of(is_first ? input.integers : input.reals) != hash) return input.name;
  }
  return "";
}

void CpuWorkspace::store_results() const {
  auto output = outputs_.begin();
  for (std::size_t i = 0; i < data_.contents.size(); ++i) {
    if (!is_written(data_.tensors[i].role)) continue;
    if (const std::string& path = data_.contents[i].results; !path.empty()) {
      ElementBuffer elements(data_.tensors[i].type, data_.tensors[i].elements());
      output->result.copy_to(elements);
      write_npy(path, elements);
    }
    ++output;
  }
}

void CpuWorkspace::compute_expected(const CpuLaunchedReference* reference) {
  if (has_expected_) return;
  if (reference != nullptr) {
    launch_reference(*reference, DataSet::integers);
    launch_reference(*reference, DataSet::reals);
  }
  auto output = outputs_.begin();
  for (std::size_t i = 0; i < data_.tensors.size(); ++i) {
    if (!is_written(data_.tensors[i].role)) continue;
    if (!data_.contents.empty() && !data_.contents[i].expected.empty()) {
      output->expected_integers = read_elements(data_.contents[i].expected, data_.tensors[i]);
      output->expected = read_elements(data_.contents[i].expected, data_.tensors[i]);
    }
    ++output;
  }
  has_expected_ = true;
}

// It runs in the place of the kernels that it judges, so that what it does wrong is found, and finds
// other poison than they, so that what depends on poison differs.
void CpuWorkspace::launch_reference(const CpuLaunchedReference& reference, DataSet data) {
  const LaunchedReference& own = reference.description();
  const std::string& title = own.title();
  poison(data, Poison::number);
  const std::vector<LaunchValues::Tensor> tensors = placed(data);
  ArgumentPack arguments(ArgumentLayout(own.signature),
                         {.tensors = tensors, .sizes = data_.sizes, .scalars = data_.scalars});
  const auto fault = reference.run(launcher_, arguments.pointers());
  if (fault) throw reference_fault(title, *fault);
  for (Output& output : outputs_) {
    const PoisonedTensor& result = output.result;
    const PoisonedTensor::Unwritten missing =
        output.data ? PoisonedTensor::Unwritten() : result.unwritten();
    check_reference(title, result.description(), result.written_outside(), missing.count,
                    missing.first);
    result.copy_to(data == DataSet::integers ? output.expected_integers : output.expected);
  }
  if (const std::string input = changed_input(data); !input.empty()) {
    throw reference_fault(title, "it changes the input " + input);
  }
}

void CpuWorkspace::compute_references(const CpuReference& kernels, DataSet data,
                                      std::span<const std::vector<Rectangle>> parts) {
  std::vector<std::int64_t> blocks;
  if (parts.empty() || !find_reference_grids(kernels)) {
    blocks = all_blocks(data_.reference.blocks);
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
