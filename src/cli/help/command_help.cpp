#include "cli/help/command_help.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include <CLI/CLI.hpp>

#include "cli/options/option_values.hpp"
#include "db/shipped_winners.hpp"
#include "tuner/search/strategy.hpp"

namespace autotune {
namespace {

struct GroupNames {
  const char* title;
  std::vector<std::string> names;
};

// An option of no group is one of what its command does alone.
constexpr const char* kOwnGroup = "Options";

const std::vector<GroupNames>& option_groups() {
  static const std::vector<GroupNames> groups = {
      {"Problem",
       {"--sizes", "--layout", "--type", "--out-type", "--batch", "--math", "--max-error",
        "--kernel", "--size", "--include-folder"}},
      {"Device", {"--device", "--arch", "--limit"}},
      {"Kernels",
       {"--template", "--config", "--tile-width", "--results-per-thread", "--unroll", "--only",
        "--shard"}},
      {"Search",
       {"--budget", "--trials", "--until", "--strategy", "--seed", "--repeats", "--in-flight",
        "--fresh", "--dry-run"}},
      {"Measuring", {"--jobs", "--no-overlap", "--compare", "--init", "--launches"}},
      {kOwnGroup, {}},
      {"Stored results", {"--db", "--no-shipped"}},
      {"Output",
       {"--json", "--csv", "--wide", "--format", "--output", "--progress", "--help", "--version"}},
  };
  return groups;
}

const char* group_of(const std::string& name) {
  for (const GroupNames& group : option_groups()) {
    if (std::ranges::find(group.names, name) != group.names.end()) {
      return group.title;
    }
  }
  return kOwnGroup;
}

OptionHelp describe_option(const CLI::Option& option, const KernelSet& kernels) {
  const bool is_named = !option.get_lnames().empty();
  OptionHelp help{.name = is_named ? "--" + option.get_lnames().front() : option.get_name(true),
                  .help = option.get_description(),
                  .required = option.get_required(),
                  .is_list = !is_named && option.get_items_expected_max() > 1};
  if (is_named && option.get_items_expected_max() > 0) help.value = option.get_type_name();
  if (help.name == "--template") {
    for (const KernelTemplate& kernel : kernels.templates()) help.templates.push_back(kernel.name);
  }
  return help;
}

std::vector<OptionGroup> describe_options(const CLI::App& app, const KernelSet& kernels) {
  std::vector<OptionGroup> groups;
  for (const GroupNames& names : option_groups()) {
    OptionGroup group{.title = names.title, .options = {}};
    for (const CLI::Option* option : app.get_options()) {
      OptionHelp help = describe_option(*option, kernels);
      if (group_of(help.name) == names.title) group.options.push_back(std::move(help));
    }
    if (!group.options.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = items_of(text, '\n');
  std::erase(lines, "");
  return lines;
}

CommandHelp describe_command(const CLI::App& app, const std::string& parent,
                             const KernelSet& kernels) {
  CommandHelp help{.name = app.get_name(),
                   .words = parent + app.get_name(),
                   .help = app.get_description(),
                   .groups = describe_options(app, kernels),
                   .examples = lines_of(app.get_footer())};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    help.commands.push_back(describe_command(*command, help.words + " ", kernels));
  }
  return help;
}

// The words that only one of the devices with shipped winners has in its name, the first of each:
// "H200" stands for "NVIDIA H200".
std::vector<std::string> words_for_devices() {
  std::set<std::string> labels;
  for (const Winner* winner : shipped_winners({})) labels.insert(winner->device_label);
  std::vector<std::string> words;
  for (const std::string& label : labels) {
    for (const std::string& word : items_of(label, ' ')) {
      const auto has_word = [&](const std::string& other) {
        return other.find(word) != std::string::npos;
      };
      if (std::ranges::count_if(labels, has_word) > 1) continue;
      words.push_back(word);
      break;
    }
  }
  return words;
}

}  // namespace

std::vector<std::string> OptionHelp::choices() const {
  if (value.find('|') != std::string::npos) return items_of(value, '|');
  if (name == "--strategy") return strategy_names();
  if (name == "--device") {
    std::vector<std::string> devices = {"auto", "cpu"};
    const bool takes_names = help.find(" name") != std::string::npos;
    if (takes_names) std::ranges::copy(words_for_devices(), std::back_inserter(devices));
    return devices;
  }
  if (name == "--compare") return {value};
  return templates;
}

std::string CommandHelp::usage() const {
  std::string text = words;
  for (const OptionGroup& group : groups) {
    for (const OptionHelp& option : group.options) {
      const std::string argument = option.text() + (option.is_list ? "..." : "");
      if (option.required) text += " " + argument;
      if (!option.required && !option.is_named()) text += " [" + argument + "]";
    }
  }
  return text + (commands.empty() ? " [OPTION]..." : " COMMAND [OPTION]...");
}

CommandHelp describe(const CLI::App& app, const KernelSet& kernels) {
  std::string parent;
  for (const CLI::App* each = app.get_parent(); each != nullptr; each = each->get_parent()) {
    parent = each->get_name() + " " + parent;
  }
  return describe_command(app, parent, kernels);
}

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : chosen_command(*chosen.front());
}

const Meanings& exit_code_meanings() {
  static const Meanings meanings = {
      {"0", "done; for query also where only a near size was found, unless --exact"},
      {"1", "internal error, or standard output could not be written"},
      {"2", "wrong usage, an empty space, or a database that cannot be opened"},
      {"3", "no device, driver, NVRTC or C++ compiler, or the problem is too large for the device"},
      {"4", "nothing is stored for this question"},
      {"5", "finished, but some size has no correct configuration"},
      {"6", "finished, but the results could not be stored"},
      {"7", "a speed-up is below that of bench --fail-below"},
      {"130", "interrupted; what there is was printed"},
  };
  return meanings;
}

const Meanings& environment_variables() {
  static const Meanings meanings = {
      {"AUTOTUNE_DB", "the tuning database, where --db names none"},
      {"XDG_DATA_HOME", "the folder of autotune/autotune.db, else ~/.local/share"},
      {"XDG_CACHE_HOME", "the folder of autotune/cubins.db, compiled kernels, else ~/.cache"},
      {"AUTOTUNE_NVRTC", "the NVRTC library to use"},
      {"AUTOTUNE_LIBCUDA", "the driver's library to use"},
      {"AUTOTUNE_CUBLAS", "the cuBLAS library to use"},
      {"CXX", "the compiler of the CPU device"},
      {"TMPDIR", "the folder of temporary files and locks, else /tmp"},
      {"NO_COLOR", "no colours"},
      {"COLUMNS", "the width of help texts that are not printed on a terminal"},
  };
  return meanings;
}

}  // namespace autotune
