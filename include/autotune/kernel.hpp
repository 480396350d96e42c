// Kernels of the application's own: tuned, chosen and launched as products are.
//
//   autotune::Kernel saxpy = library.kernel({"saxpy.cu"});  // with pragmas: docs/own-kernels.md
//   saxpy.tune({{{"n", 100000}}});                          // once; kept on disk
//   saxpy.launch(stream, 2.0F, x, y, 100000);               // as often as you like
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/element_type.hpp"
#include "autotune/export.hpp"
#include "autotune/gemm_arguments.hpp"
#include "autotune/match_kind.hpp"
#include "autotune/tuning.hpp"

namespace autotune {

class OwnKernel;       // the inside of a Kernel
struct PlannedLaunch;  // the inside of a KernelPlan

// Where a kernel is described.
struct KernelSource {
  std::string file;  // a .cu file with pragmas
  // The kernel's name in a file that describes several. Empty: the only one that can be tuned.
  std::string name = {};
  // "double", "4", ...: in the order of the template's parameters. Those left out are as the file
  // has them.
  std::vector<std::string> template_arguments = {};
  std::vector<std::string> include_folders = {};  // searched after the file's own
  // The content of the file, where it is in memory: `file` is then no more than its name and the
  // folder that it includes from. Not given: the file is read.
  std::optional<std::string> text = {};
};

// The sizes of a problem by their names, each from 1 to 2147483647.
using KernelSizes = std::map<std::string, std::int64_t>;

// A configuration that a kernel runs with, and why.
struct KernelConfiguration {
  MatchKind match = MatchKind::predicted;  // predicted: the default of the file
  std::string explanation;                 // one line
  Configuration configuration;
  KernelSizes tuned_for;            // others than asked for with nearest_size
  std::optional<double> median_us;  // of one launch, as measured for tuned_for
};

struct TunedSizes {
  KernelSizes sizes;  // as they were given
  std::optional<KernelConfiguration> winner;
  std::string problem_without_winner;  // why there is none; empty when there is one
};

struct KernelTuningResult : SearchSummary {
  std::vector<TunedSizes> problems;  // in the order of the call
};

// An argument of a launch: an address, a whole number or a real one. A CUdeviceptr is given as the
// pointer that it is. A pointer to float, double, signed char, short or integers of 32 and 64 bits
// tells the type of a buffer's elements, which is checked but for the sign of integers; one to void
// or to anything else is taken as it is.
class LaunchArgument {
 public:
  enum class Kind : std::uint8_t { address = 0, whole = 1, real = 2 };

  LaunchArgument(std::nullptr_t) {}  // NOLINT(google-explicit-constructor)
  template <typename T>
  LaunchArgument(T* address)  // NOLINT(google-explicit-constructor)
      : address_(address), type_(type_of<std::remove_cv_t<T>>()) {
    is_const_ = type_ && std::is_const_v<T>;
  }
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  LaunchArgument(T value)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::whole), whole_(static_cast<std::int64_t>(value)) {
    if (std::is_unsigned_v<T> && whole_ < 0) {  // beyond 63 bits
      kind_ = Kind::real;
      real_ = static_cast<double>(value);
    }
  }
  template <typename T, std::enable_if_t<std::is_floating_point_v<T>, int> = 0>
  LaunchArgument(T value)  // NOLINT(google-explicit-constructor)
      : kind_(Kind::real), real_(static_cast<double>(value)) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const void* address() const { return address_; }
  // The type of the elements, where the pointer's tells it, and whether that is a constant one.
  [[nodiscard]] std::optional<ElementType> type() const { return type_; }
  [[nodiscard]] bool is_const() const { return is_const_; }
  [[nodiscard]] std::int64_t whole() const { return whole_; }
  [[nodiscard]] double real() const {
    return kind_ == Kind::real ? real_ : static_cast<double>(whole_);
  }

 private:
  template <typename T>
  static constexpr std::optional<ElementType> type_of() {
    if (std::is_same_v<T, float>) return ElementType::f32;
    if (std::is_same_v<T, double>) return ElementType::f64;
    if (std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>) {
      return ElementType::i32;
    }
    // Characters and unsigned short stand for bytes and for halves of FP32 too.
    if (std::is_same_v<T, signed char>) return ElementType::i8;
    if (std::is_same_v<T, short>) return ElementType::i16;
    if constexpr (std::is_integral_v<T>) {
      if (sizeof(T) == sizeof(std::int64_t)) {
        return std::is_signed_v<T> ? ElementType::i64 : ElementType::u64;
      }
    }
    return std::nullopt;
  }

  Kind kind_ = Kind::address;
  const void* address_ = nullptr;
  std::optional<ElementType> type_;
  bool is_const_ = false;
  std::int64_t whole_ = 0;
  double real_ = 0;
};

// An argument of a kernel's function.
struct ArgumentDescription {
  std::string name;
  LaunchArgument::Kind kind = LaunchArgument::Kind::address;
  bool is_size = false;  // it is the size of its name
  // Of a buffer.
  ElementType type = ElementType::f32;
  bool is_written = false;
  std::int64_t elements = 0;  // that it has at least; those of a vector type count one by one
};

// A kernel that is chosen and loaded for some sizes. Immutable: tune() changes no plan that was made
// before. A value that is cheap to copy and that any thread may use, several at once. It belongs to
// the device and the CUDA context that were current when it was made, and keeps its kernel loaded.
class AUTOTUNE_API KernelPlan {
 public:
  // An empty plan, which can only be assigned to.
  KernelPlan() = default;

  [[nodiscard]] const KernelConfiguration& choice() const;

  // Enqueues a launch on `stream` in the thread's current context and returns; on the CPU device the
  // stream is nullptr, and it returns with the result. The arguments are those of the function, in
  // its order: addresses for buffers, which have as many elements as the file says of these sizes,
  // and numbers. It neither allocates, compiles nor reads files, so it may be captured into a graph;
  // on the CPU device it locks and allocates.
  //
  // Throws UsageError for other arguments than the function has, a null or misaligned address, one
  // of another type, a number that is another than these sizes give, and in another CUDA context;
  // Error, with the driver's code, for what the driver reports.
  template <typename... Arguments>
  void operator()(Stream stream, const Arguments&... arguments) const {
    const std::array<LaunchArgument, sizeof...(Arguments)> values{LaunchArgument(arguments)...};
    run(stream, values.data(), values.size());
  }
  // The same for arguments that are counted at run time.
  void run(Stream stream, const LaunchArgument* arguments, std::size_t count) const;

 private:
  friend class Kernel;
  explicit KernelPlan(std::shared_ptr<const PlannedLaunch> planned);
  [[nodiscard]] const PlannedLaunch& planned() const;

  std::shared_ptr<const PlannedLaunch> planned_;
};

// A kernel of the application's own on the device of its Library. A value that is cheap to copy and
// that any thread may use, several at once. It keeps the inside of its Library alive.
class AUTOTUNE_API Kernel {
 public:
  // An empty kernel, which can only be assigned to.
  Kernel() = default;

  // The name that its results are kept under: the tuning key, or else the function's.
  [[nodiscard]] const std::string& name() const;
  // The names of the sizes that a problem consists of.
  [[nodiscard]] const std::vector<std::string>& sizes() const;

  // The arguments of the function, in its order. Without sizes `elements` is 0, unless the kernel
  // has none. Throws UsageError for sizes that cannot be.
  [[nodiscard]] std::vector<ArgumentDescription> arguments(const KernelSizes& sizes) const;

  // Searches for the fastest configurations, as Library::tune() does for products, with what it says
  // of other work, memory and the worker_program. Each result is checked against the reference of
  // the file. TuningOptions::max_error must be left out: tolerances stand in the file.
  //
  // Throws UsageError for sizes or options that cannot be, EnvironmentError and StorageError as
  // Library::tune() does.
  KernelTuningResult tune(const std::vector<KernelSizes>& problems,
                          const TuningOptions& options = {});

  // Returns the configuration that a plan would take now: the best known for these sizes, else that
  // of the nearest ones, else the file's default. Reads the database; needs neither driver nor
  // compiler. Throws UsageError for sizes that cannot be.
  [[nodiscard]] KernelConfiguration query(const KernelSizes& sizes) const;

  // Chooses and loads the kernel in the thread's current context, compiled if need be. With
  // MissPolicy::tune sizes that were not tuned are tuned first, once, with refuse they are a
  // NotTunedError, as they are with tune where no configuration is right; background is as predict. Throws UsageError for sizes that cannot be,
  // EnvironmentError when the kernel must be compiled and there is no compiler, Error for what the
  // compiler or the driver reports.
  [[nodiscard]] KernelPlan plan(const KernelSizes& sizes);

  // Launches the plan of the sizes that stand among the arguments. The first call for some sizes in
  // a context makes the plan; later ones find it, for which they hold a lock for a moment. After
  // tune() of a Kernel of this name in this process plans are made anew; what was loaded stays loaded
  // as long as the Kernel and its copies. Throws what plan() and KernelPlan throw, UsageError for a
  // kernel with a size that is no argument, which needs a plan, and for a first call on a stream that
  // is being captured.
  template <typename... Arguments>
  void launch(Stream stream, const Arguments&... arguments) {
    const std::array<LaunchArgument, sizeof...(Arguments)> values{LaunchArgument(arguments)...};
    run(stream, values.data(), values.size());
  }
  // The same for arguments that are counted at run time.
  void run(Stream stream, const LaunchArgument* arguments, std::size_t count);
  // The same for sizes that are given, all of them.
  void run(const KernelSizes& sizes, Stream stream, const LaunchArgument* arguments,
           std::size_t count);

 private:
  friend class Library;
  explicit Kernel(std::shared_ptr<OwnKernel> kernel);
  [[nodiscard]] OwnKernel& inside() const;

  std::shared_ptr<OwnKernel> kernel_;
};

}  // namespace autotune
