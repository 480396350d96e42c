// autotune show: prints the source, PTX, compiler's log or launch of one configuration.
#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "autotune/error.hpp"

#include "api/device_choice.hpp"
#include "cli/commands/command.hpp"
#include "cli/exit_codes.hpp"
#include "cli/kernel_options.hpp"
#include "cli/options/configuration_choice.hpp"
#include "cli/options/options.hpp"
#include "cli/options/target.hpp"
#include "cli/options/tuning_setup.hpp"
#include "cli/output/table.hpp"
#include "cli/output/terminal.hpp"
#include "gpu/nvrtc.hpp"

namespace autotune {
namespace {

struct ShowOptions : Options {
  using Options::Options;

  bool source = false;
  bool ptx = false;
  bool log = false;

  [[nodiscard]] bool compiles() const { return ptx || log; }
};

// Turns "-DNAME=VALUE" into the line of source that says the same.
std::string as_define(const std::string& option) {
  const std::size_t equals = option.find('=');
  return fmt::format("#define {} {}\n", option.substr(2, equals - 2), option.substr(equals + 1));
}

// Puts the macros before the template's text, so that it compiles alone.
std::string stand_alone_source(const KernelTemplate& kernel,
                               const std::vector<std::string>& options) {
  std::string text;
  for (const std::string& option : options) {
    if (option.rfind("-D", 0) == 0) text += as_define(option);
  }
  return text + "\n" + std::string(kernel.source);
}

// The kernel's arguments in their order, by the names of what they pass.
std::vector<std::string> argument_names(const KernelTemplate& kernel, const Problem& problem) {
  if (!kernel.argument_names.empty()) return kernel.argument_names;
  constexpr const char* kScalars[] = {"alpha", "beta"};
  const std::vector<TensorDesc> tensors = kernel.operation->tensors(problem);
  std::vector<std::string> names;
  for (const KernelArgument& argument : kernel.signature(problem)) {
    const std::size_t index = argument.index;
    switch (argument.kind) {
      case ArgumentKind::tensor:
        names.push_back(tensors[index].name);
        break;
      case ArgumentKind::size:
        names.push_back(problem.sizes()[index].name);
        break;
      case ArgumentKind::row_stride:
        names.push_back("ld" + tensors[index].name);
        break;
      case ArgumentKind::scalar:
        names.emplace_back(kScalars[index]);
        break;
      case ArgumentKind::workspace:
        names.emplace_back("workspace");
        break;
      case ArgumentKind::raster:
        names.emplace_back("raster");
        break;
      case ArgumentKind::tensor_map:
        names.push_back("map of " + tensors[index].name);
        break;
      case ArgumentKind::matrix_stride:
        names.push_back("stride of " + tensors[index].name);
        break;
      case ArgumentKind::prepared:
        names.push_back("prepared " + tensors[index].name);
        break;
      case ArgumentKind::prepares:
        names.emplace_back("operands to prepare");
        break;
    }
  }
  return names;
}

void print_line(const char* name, const std::string& value) {
  fmt::print("{:<15} {}\n", name, value);
}

// The lines that only some kernels have.
void print_special_needs(const LaunchGeometry& geometry, const std::vector<TensorDesc>& tensors) {
  if (geometry.blocks_per_cluster > 1) {
    print_line("cluster", fmt::format("{} blocks", geometry.blocks_per_cluster));
  }
  if (geometry.resident_blocks_per_sm > 0) {
    print_line("blocks per SM", fmt::format("at most {}: the grid shrinks to that",
                                            geometry.resident_blocks_per_sm));
  }
  if (geometry.workspace_bytes() > 0) {
    print_line("workspace", fmt::format("{} bytes, of which the first {} are zero before a launch",
                                        geometry.workspace_bytes(), 4 * kWorkspaceCounters));
  }
  if (const auto& [blocks, threads, shared_bytes, shares] = geometry.preparation; blocks > 0) {
    print_line("prepared by",
               fmt::format("a launch of {} blocks of {} threads with {} bytes of shared memory",
                           blocks, threads, shared_bytes));
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!geometry.needs_map(i)) continue;
    const auto [rows, columns] = geometry.tensor_boxes[i];
    print_line("tensor map",
               fmt::format("of {}, boxes of {} x {}", tensors[i].name, rows, columns));
  }
  if (geometry.waits_for_launch_before) {
    print_line("launch", "may be prepared while the one before it ends (programmatic)");
  }
}

void print_launch(const ChosenConfiguration& chosen, const std::vector<std::string>& options) {
  const KernelTemplate& kernel = *chosen.kernel;
  const Problem& problem = chosen.problem;
  const LaunchGeometry geometry = kernel.geometry(chosen.configuration, problem);
  if (!geometry.is_launchable()) {
    throw UsageError(fmt::format("{} would need {} blocks, more than a launch has",
                                 kernel.operation->text(problem), fmt::join(geometry.grid, " x ")));
  }
  print_line("size", kernel.operation->text(problem));
  print_line("template", kernel.name);
  print_line("configuration", to_string(chosen.configuration));
  print_line("origin", printable(chosen.origin));
  print_line("grid", fmt::format("{}", fmt::join(geometry.grid, " x ")));
  print_line("block", fmt::format("{}", fmt::join(geometry.block, " x ")));
  // What the text of a user's kernel declares is known to the compiler alone.
  const std::int64_t static_bytes = kernel.shared_bytes(chosen.configuration);
  const bool is_own = kernel.operation->named_sizes.has_value();
  print_line("shared memory",
             fmt::format("{} static, {} dynamic",
                         is_own ? "what the file declares" : fmt::format("{} bytes", static_bytes),
                         geometry.dynamic_shared_bytes));
  print_special_needs(geometry, kernel.operation->tensors(problem));
  print_line("arguments", fmt::format("{}", fmt::join(argument_names(kernel, problem), ", ")));
  const KernelSignature signature = kernel.signature(problem);
  const bool has_raster = std::ranges::any_of(signature, [](const KernelArgument& argument) {
    return argument.kind == ArgumentKind::raster;
  });
  if (has_raster) print_line("raster", std::to_string(geometry.raster));
  print_line("compile options", fmt::format("{}", fmt::join(options, " ")));
}

// Prints the PTX or the compiler's log; returns the exit code.
int print_compiled(const ShowOptions& options, const gpu::CompileResult& result) {
  if (options.log) fmt::print("{}\n", result.log);
  if (result.ok && options.ptx) fmt::print("{}\n", result.ptx);
  if (!result.ok && options.ptx) {
    say("the compiler refuses this configuration: --log shows why");
  }
  return result.ok ? exit_code::kDone : exit_code::kNoneCorrect;
}

void check_show(const ShowOptions& options, const Problem& problem) {
  check_choice(choice_of(options), {problem});
  if (options.source + options.ptx + options.log > 1) {
    throw UsageError("--source, --ptx and --log exclude each other");
  }
  // NVRTC itself says what it compiles for.
  if (!options.architecture.empty() && !options.compiles()) check_known(options.architecture);
}

int run_show(const ShowOptions& options) {
  const Problem problem = options.one_problem();
  check_show(options, problem);
  const std::optional<TuningDatabase> opened = open_database_read_only(options.database);
  const TuningDatabase* database = opened ? &*opened : nullptr;
  const Target target = choose_target(options, database);
  const ChosenConfiguration chosen =
      choose_configuration(choice_of(options), problem, database, target.query);
  check_problem(*chosen.kernel, chosen.problem);
  const std::string architecture = architecture_of(target, database);
  check_architecture(*chosen.kernel, architecture);
  if (names_cpu_device(architecture) && options.compiles()) {
    throw UsageError(
        "--ptx, --log: the CPU device has no PTX: name an architecture, e.g. "
        "--arch sm_90");
  }
  const std::vector<std::string> compile_with =
      compile_options(*chosen.kernel, chosen.configuration,
                      code_traits(*chosen.kernel, chosen.problem), architecture);

  if (options.compiles()) {
    return print_compiled(options, compiler_for(architecture)
                                       ->compile(chosen.kernel->name,
                                                 std::string(chosen.kernel->source), compile_with));
  }
  if (options.source) {
    if (have_named_sizes(options.kernels()) && chosen.origin == "default") {
      say(fmt::format("nothing is tuned for {} on {}: these are the defaults",
                      chosen.kernel->operation->text(problem), architecture));
    }
    fmt::print("{}", stand_alone_source(*chosen.kernel, compile_with));
  } else {
    print_launch(chosen, compile_with);
  }
  return exit_code::kDone;
}

}  // namespace

void add_show_command(CommandLine& line) {
  auto [command, options] = add_command(
      line, "show", "Show a configuration's launch, source, PTX or compiler log", run_show);
  add_options(command, options, {{"--sizes", kOneSizeHelp}, {"--device", kDeviceNameHelp}});
  add_options(command, options,
              {"--layout", "--type", "--out-type", "--batch", "--math", "--arch", "--template",
               "--config", "--db", "--no-shipped"});
  require_sizes(command, options);
  command.add_flag("--source", options.source, "Print the kernel's source");
  command.add_flag("--ptx", options.ptx, "Print its PTX");
  command.add_flag("--log", options.log, "Print the compiler's log");
  command.footer(
      "autotune show --sizes 2048 --device \"NVIDIA H200\"\n"
      "autotune show --sizes 2048 --arch sm_90 --template gemm_simt --source");
}

}  // namespace autotune
