#include "api/c_structures.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>

namespace autotune {
namespace {

// A structure as this version knows it: what an older caller lacks is 0.
template <typename Struct>
Struct known_part(const Struct* from, const char* name) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const std::size_t size = given(from, name).size;
  check_size<Struct>(size, name);
  const char* const bytes = reinterpret_cast<const char*>(from);
  const std::size_t known_size = std::min(size, sizeof(Struct));
  if (std::any_of(bytes + known_size, bytes + size, [](char byte) { return byte != 0; })) {
    throw UsageError(fmt::format("{} asks for what only a newer library has", name));
  }
  Struct known{};
  std::memcpy(&known, bytes, known_size);
  return known;
}

// Writes what the caller's structure has room for.
template <typename Struct>
void write_known(Struct from, Struct& to) {
  from.size = to.size;
  std::memcpy(&to, &from, std::min(to.size, sizeof from));
}

constexpr bool is_same(std::int32_t in_c, auto in_cpp) {
  return in_c == static_cast<std::int32_t>(in_cpp);
}
static_assert(is_same(AUTOTUNE_USAGE, ErrorCode::usage) &&
              is_same(AUTOTUNE_ENVIRONMENT, ErrorCode::environment) &&
              is_same(AUTOTUNE_STORAGE, ErrorCode::storage) &&
              is_same(AUTOTUNE_NOT_TUNED, ErrorCode::not_tuned) &&
              is_same(AUTOTUNE_NO_MEMORY, ErrorCode::no_memory) &&
              is_same(AUTOTUNE_DEVICE, ErrorCode::device) &&
              is_same(AUTOTUNE_INTERNAL, ErrorCode::internal));
static_assert(is_same(AUTOTUNE_MISS_PREDICT, MissPolicy::predict) &&
              is_same(AUTOTUNE_MISS_TUNE, MissPolicy::tune) &&
              is_same(AUTOTUNE_MISS_REFUSE, MissPolicy::refuse) &&
              is_same(AUTOTUNE_MISS_BACKGROUND, MissPolicy::background));
static_assert(is_same(AUTOTUNE_LOG_INFO, LogLevel::info) &&
              is_same(AUTOTUNE_LOG_WARNING, LogLevel::warning));
static_assert(is_same(AUTOTUNE_NONE, Transpose::none) &&
              is_same(AUTOTUNE_TRANSPOSED, Transpose::transposed));
static_assert(is_same(AUTOTUNE_STRICT, Math::strict) &&
              is_same(AUTOTUNE_EMULATED, Math::emulated) && is_same(AUTOTUNE_TF32, Math::tf32));
static_assert(is_same(AUTOTUNE_ROW_MAJOR, Order::row_major) &&
              is_same(AUTOTUNE_COLUMN_MAJOR, Order::column_major));
static_assert(is_same(AUTOTUNE_EXACT, MatchKind::exact) &&
              is_same(AUTOTUNE_EXACT_STALE, MatchKind::exact_stale) &&
              is_same(AUTOTUNE_NEAREST_SIZE, MatchKind::nearest_size) &&
              is_same(AUTOTUNE_PREDICTED, MatchKind::predicted));
static_assert(is_same(AUTOTUNE_F32, ElementType::f32) && is_same(AUTOTUNE_F64, ElementType::f64) &&
              is_same(AUTOTUNE_BF16, ElementType::bf16) &&
              is_same(AUTOTUNE_F16, ElementType::f16) && is_same(AUTOTUNE_I32, ElementType::i32) &&
              is_same(AUTOTUNE_I8, ElementType::i8) && is_same(AUTOTUNE_U8, ElementType::u8) &&
              is_same(AUTOTUNE_I16, ElementType::i16) && is_same(AUTOTUNE_U16, ElementType::u16) &&
              is_same(AUTOTUNE_I64, ElementType::i64) && is_same(AUTOTUNE_U64, ElementType::u64));
static_assert(is_same(AUTOTUNE_ADDRESS, LaunchArgument::Kind::address) &&
              is_same(AUTOTUNE_WHOLE, LaunchArgument::Kind::whole) &&
              is_same(AUTOTUNE_REAL, LaunchArgument::Kind::real));
static_assert(is_same(AUTOTUNE_OPERAND_A, Operand::a) && is_same(AUTOTUNE_OPERAND_B, Operand::b));

void check_reserved(std::int32_t value, const char* name) {
  if (value == 0) return;
  throw UsageError(fmt::format("{}: reserved is {}: it must be 0", name, value));
}

Device device_of(const autotune_options& options) {
  if (options.device == AUTOTUNE_DEVICE_GPU && options.gpu >= 0) return Device::gpu(options.gpu);
  if (options.device == AUTOTUNE_DEVICE_GPU || options.gpu != 0) {
    throw UsageError(fmt::format("gpu is {}: it must be a GPU's number, or 0", options.gpu));
  }
  if (options.device == AUTOTUNE_DEVICE_CPU) return Device::cpu();
  if (options.device == AUTOTUNE_DEVICE_CURRENT) return Device::current();
  throw UsageError(fmt::format("device is {}: it must be from 0 to 2", options.device));
}

}  // namespace

bool truth_value(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) {
    throw UsageError(fmt::format("{} is {}: it must be 0 or 1", name, value));
  }
  return value == 1;
}

void copy_text(std::string_view text, char* to, std::size_t size) noexcept {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
}

GemmProblem problem_of(const autotune_problem* from) {
  const autotune_problem p = known_part(from, "problem");
  return {p.m,
          p.n,
          p.k,
          enumerator<Transpose>(p.op_a),
          enumerator<Transpose>(p.op_b),
          enumerator<Math>(p.math),
          enumerator<Order>(p.order),
          p.batch == 0 ? 1 : p.batch,
          {enumerator<ElementType>(p.type_a), enumerator<ElementType>(p.type_b),
           enumerator<ElementType>(p.type_c), enumerator<ElementType>(p.type_sums)}};
}

Matrix matrix_of(const autotune_matrix& from, const char* name) {
  check_reserved(from.reserved, name);
  return {from.data, enumerator<ElementType>(from.type), from.ld, from.stride,
          from.prepared == nullptr ? nullptr : &from.prepared->matrix};
}

MutableMatrix matrix_of(const autotune_mutable_matrix& from, const char* name) {
  check_reserved(from.reserved, name);
  return {from.data, enumerator<ElementType>(from.type), from.ld, from.stride};
}

CCall call_of(const autotune_gemm_call* from, const GemmProblem* planned) {
  const autotune_gemm_call call = known_part(from, "call");
  check_reserved(call.reserved, "call");
  const bool is_planned = planned != nullptr && call.problem == nullptr;
  CCall result{is_planned ? *planned : problem_of(call.problem),
               {call.alpha,
                matrix_of(call.a, "a"),
                matrix_of(call.b, "b"),
                call.beta,
                matrix_of(call.c, "c"),
                call.stream,
                {call.workspace, call.workspace_bytes,
                 !truth_value(call.workspace_not_zeroed, "workspace_not_zeroed")},
                call.alpha_ptr,
                call.beta_ptr,
                matrix_of(call.d, "d")},
               call.match};
  if (planned != nullptr && result.problem != *planned) {
    throw UsageError(fmt::format("problem is {}: the plan is for {}, so leave it NULL",
                                 to_string(result.problem), to_string(*planned)));
  }
  return result;
}

std::vector<GemmProblem> problems_of(const autotune_problem* first, std::size_t count) {
  std::vector<GemmProblem> result;
  if (count == 0) return result;
  const std::size_t size = given(first, "problems").size;
  const char* at = reinterpret_cast<const char*>(first);
  for (; result.size() < count; at += size) {
    const auto* const problem = reinterpret_cast<const autotune_problem*>(at);
    if (problem->size != size) throw UsageError("problems have different sizes");
    result.push_back(problem_of(problem));
  }
  return result;
}

namespace {

std::vector<std::string> texts_of(const char* const* first, std::size_t count, const char* name) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    texts.emplace_back(&given((&given(first, name))[i], name));
  }
  return texts;
}

}  // namespace

KernelSource source_of(const autotune_kernel_source* from) {
  const autotune_kernel_source source = known_part(from, "source");
  KernelSource result;
  result.file = &given(source.file, "file");
  if (source.name != nullptr) result.name = source.name;
  if (source.text != nullptr) result.text = source.text;
  result.template_arguments =
      texts_of(source.template_arguments, source.template_argument_count, "template_arguments");
  result.include_folders =
      texts_of(source.include_folders, source.include_folder_count, "include_folders");
  return result;
}

KernelSizes sizes_of(const autotune_kernel_size* first, std::size_t count) {
  KernelSizes sizes;
  for (std::size_t i = 0; i < count; ++i) {
    const autotune_kernel_size& size = (&given(first, "sizes"))[i];
    const std::string name = &given(size.name, "name of a size");
    if (!sizes.emplace(name, size.value).second) {
      throw UsageError(fmt::format("the size {} is given twice", name));
    }
  }
  return sizes;
}

std::vector<LaunchArgument> arguments_of(const autotune_launch_argument* first, std::size_t count) {
  std::vector<LaunchArgument> arguments;
  for (std::size_t i = 0; i < count; ++i) {
    const autotune_launch_argument& each = (&given(first, "arguments"))[i];
    check_reserved(each.reserved, "arguments");
    switch (each.kind) {
      case AUTOTUNE_ADDRESS:
        arguments.emplace_back(each.address);
        break;
      case AUTOTUNE_WHOLE:
        arguments.emplace_back(each.whole);
        break;
      case AUTOTUNE_REAL:
        arguments.emplace_back(each.real);
        break;
      default:
        throw UsageError(fmt::format("kind is {}: it must be from 0 to 2", each.kind));
    }
  }
  return arguments;
}

LibraryOptions options_of(const autotune_options* from) {
  LibraryOptions result;
  if (from == nullptr) return result;
  const autotune_options options = known_part(from, "options");
  result.device = device_of(options);
  if (options.database != nullptr) result.database = options.database;
  if (options.worker_program != nullptr) result.worker_program = options.worker_program;
  if (options.bundle != nullptr) result.bundle = options.bundle;
  result.use_shipped_winners = !truth_value(options.no_shipped_winners, "no_shipped_winners");
  result.miss = enumerator<MissPolicy>(options.miss);
  if (options.background_share != 0) result.background_share = options.background_share;
  if (options.max_workspace_bytes < -1) {
    throw UsageError(fmt::format("max_workspace_bytes is {}: it must be -1 at least",
                                 options.max_workspace_bytes));
  }
  if (options.max_workspace_bytes != 0) {
    const auto bytes = std::max<std::int64_t>(options.max_workspace_bytes, 0);
    result.max_workspace_bytes = static_cast<std::size_t>(bytes);
  }
  if (options.allocate != nullptr) {
    result.allocator.allocate = [allocate = options.allocate, user = options.allocator_user](
                                    std::size_t bytes, Stream stream) {
      return allocate(user, bytes, stream);
    };
  }
  if (options.release != nullptr) {
    result.allocator.release = [release = options.release, user = options.allocator_user](
                                   void* address, Stream stream) {
      release(user, address, stream);
    };
  }
  if (options.miss_budget_seconds != 0) result.miss_budget_seconds = options.miss_budget_seconds;
  if (options.log != nullptr) {
    result.log = [log = options.log, user = options.user](LogLevel level, const std::string& line) {
      log(user, static_cast<std::int32_t>(level), line.c_str());
    };
  }
  return result;
}

TuningOptions tuning_options_of(const autotune_tune_options* from) {
  TuningOptions result;
  if (from == nullptr) return result;
  const autotune_tune_options options = known_part(from, "options");
  if (options.budget_seconds != 0) result.budget_seconds = options.budget_seconds;
  if (options.budget_trials != 0) result.budget_trials = options.budget_trials;
  if (options.strategy != nullptr) result.strategy = options.strategy;
  if (options.max_error != 0) result.max_error = options.max_error;
  if (options.seed != 0) result.seed = options.seed;
  result.fresh = truth_value(options.fresh, "fresh");
  if (options.progress != nullptr) {
    result.progress = [report = options.progress, user = options.user](const TuningProgress& now) {
      return report(user, now.done, now.total, now.elapsed_s, now.best_us.value_or(0)) != 0;
    };
  }
  return result;
}

void write_choice(const BestConfiguration& best, autotune_choice& caller) {
  autotune_choice to{};
  to.match = static_cast<std::int32_t>(best.match);
  to.tuned_math = static_cast<std::int32_t>(best.tuned_for.math);
  to.tuned_m = best.tuned_for.m;
  to.tuned_n = best.tuned_for.n;
  to.tuned_k = best.tuned_for.k;
  to.median_us = best.median_us.value_or(0);
  copy_text(best.template_name, to.kernel, sizeof to.kernel);
  copy_text(to_string(best.configuration), to.configuration, sizeof to.configuration);
  copy_text(best.explanation, to.explanation, sizeof to.explanation);
  to.tuned_batch = best.tuned_for.batch;
  if (best.baseline) {
    const std::string& version = best.baseline->version;
    copy_text(best.baseline->library + (version.empty() ? "" : ' ' + version), to.baseline,
              sizeof to.baseline);
    to.baseline_us = best.baseline->median_us;
    to.speedup = best.baseline->speedup;
    to.speedup_low = best.baseline->speedup_low;
    to.speedup_high = best.baseline->speedup_high;
  }
  write_known(to, caller);
}

void write_choice(const KernelConfiguration& best, const std::string& kernel,
                  autotune_choice& caller) {
  autotune_choice to{};
  const std::string configuration = to_string(best.configuration);
  if (configuration.size() >= sizeof to.configuration) {
    throw UsageError(fmt::format("the configuration of {} has {} characters: there is room for {}",
                                 kernel, configuration.size(), sizeof to.configuration - 1));
  }
  to.match = static_cast<std::int32_t>(best.match);
  to.median_us = best.median_us.value_or(0);
  copy_text(kernel, to.kernel, sizeof to.kernel);
  copy_text(configuration, to.configuration, sizeof to.configuration);
  copy_text(best.explanation, to.explanation, sizeof to.explanation);
  write_known(to, caller);
}

void write_argument(const ArgumentDescription& argument, autotune_kernel_argument& caller) {
  autotune_kernel_argument to{};
  if (argument.name.size() >= sizeof to.name) {
    throw UsageError(fmt::format("the name {} has {} characters: there is room for {}",
                                 argument.name, argument.name.size(), sizeof to.name - 1));
  }
  to.kind = static_cast<std::int32_t>(argument.kind);
  to.type = static_cast<std::int32_t>(argument.type);
  to.elements = argument.elements;
  to.is_written = argument.is_written;
  to.is_size = argument.is_size;
  copy_text(argument.name, to.name, sizeof to.name);
  write_known(to, caller);
}

void write_result(const SearchSummary& summary, std::int64_t tuned, autotune_tune_result& caller) {
  autotune_tune_result to{};
  to.measured = summary.measured;
  to.known = summary.known;
  to.tuned = tuned;
  to.complete = summary.complete;
  to.stored = summary.storage_problem.empty();
  write_known(to, caller);
}

}  // namespace autotune
