// The values of text/launch.cu.in.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/source/facts.hpp"

namespace autotune {
namespace {

// The namespace of a form of the kernel.
std::string space_of(const std::string& form) {
  return form + "_code";
}

// The kernel's text in a namespace, under names that no other source has, with the addresses of its
// kernels as constants.
std::string kernel_form(const SourceFacts& facts, const std::string& form, const char* aligned) {
  const std::string& kernel = facts.request.kernel->name;
  std::string defines;
  std::string addresses;
  std::string ends;
  const auto define = [&](const std::string& macro, const std::string& value) {
    defines += fmt::format("#define {} {}\n", macro, value);
    ends += fmt::format("#undef {}\n", macro);
  };
  const auto rename = [&](const std::string& name, const std::string& unique, const char* address) {
    define(name, unique);
    addresses +=
        fmt::format("const void* const {} = reinterpret_cast<const void*>({});\n", address, name);
  };
  if (facts.request.kernel->knows_alignment) define("ALIGNED", aligned);
  rename(kernel, form, "kernel");
  if (facts.geometry.preparation.blocks > 0) {
    rename(kernel + "_prepare", facts.preparation_kernel(), "preparation");
  }
  return fmt::format("namespace {0} {{\n{1}#include \"{2}_kernel.cuh\"\n{3}{4}}}  // namespace {0}",
                     space_of(form), defines, facts.name, addresses, ends);
}

std::string kernel_forms(const SourceFacts& facts) {
  const std::string other = kernel_form(facts, facts.other_kernel(), "0");
  if (!facts.two_forms) return other;
  return "// The kernel for matrices that begin, and whose rows begin, at multiples of 16 "
         "bytes.\n" +
         kernel_form(facts, facts.aligned_kernel(), "1") + "\n\n// The kernel for any others.\n" +
         other;
}

// A list of conditions of which one is enough for a return.
std::string refusal(const std::vector<std::string>& conditions) {
  return fmt::format("  if ({}) return cudaErrorInvalidValue;\n", fmt::join(conditions, " || "));
}

std::string batch_checks(const SourceFacts& facts) {
  const std::string& batch = facts.request.text.batch;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  for (const TensorDesc& tensor : facts.tensors) {
    const std::string stride = matrix_stride_name(tensor);
    if (!is_written(tensor.role)) {
      inputs.push_back(stride + " < 0");
    } else {
      outputs.push_back(fmt::format("overlap({}, {}, {}, {}, {})", tensor.rows, tensor.columns,
                                    row_stride_name(tensor), stride, batch));
    }
  }
  return refusal({batch + " < 1", fmt::format("{} > {}", batch, facts.products())}) +
         refusal(inputs) + refusal(outputs);
}

std::string checks(const SourceFacts& facts) {
  std::vector<std::string> nulls;
  std::vector<std::string> strides;
  for (const TensorDesc& tensor : facts.tensors) {
    nulls.push_back(tensor.name + " == nullptr");
    strides.push_back(fmt::format("{} < {}", row_stride_name(tensor), tensor.columns));
  }
  std::string text = refusal(nulls) + refusal(strides);
  if (facts.is_batch()) text += batch_checks(facts);
  if (facts.geometry.workspace_bytes() > 0) {
    text += "  if (workspace == nullptr) return cudaErrorInvalidValue;\n";
    text += refusal({"reinterpret_cast<uintptr_t>(workspace) % 256 != 0"});
  }
  text.pop_back();
  return text;
}

bool takes(const SourceFacts& facts, ArgumentKind kind) {
  return std::ranges::any_of(
      facts.signature, [kind](const KernelArgument& argument) { return argument.kind == kind; });
}

// The variables that the launch passes besides the caller's.
std::string local_values(const SourceFacts& facts) {
  std::vector<std::string> sizes;
  for (const Problem::Size& size : facts.request.problem.sizes()) {
    if (size.name == facts.request.text.batch) continue;  // the caller's
    sizes.push_back(fmt::format("{} = {}", size.name, size.value));
  }
  std::string text = fmt::format("  int64_t {};", fmt::join(sizes, ", "));
  if (takes(facts, ArgumentKind::raster)) {
    text += fmt::format("\n  unsigned raster = {};  // rows of tiles that blocks work on at a time",
                        facts.geometry.raster);
  }
  if (takes(facts, ArgumentKind::prepares)) {
    text +=
        "\n  void* prepared = nullptr;  // both operands are prepared by each call\n"
        "  unsigned prepares = ~0u;";
  }
  if (!takes(facts, ArgumentKind::workspace)) text += "\n  static_cast<void>(workspace);";
  return text;
}

std::string argument_name(const SourceFacts& facts, const KernelArgument& argument) {
  switch (argument.kind) {
    case ArgumentKind::tensor:
      return facts.tensors[argument.index].name;
    case ArgumentKind::size:
      return facts.request.problem.sizes()[argument.index].name;
    case ArgumentKind::row_stride:
      return row_stride_name(facts.tensors[argument.index]);
    case ArgumentKind::matrix_stride:
      return matrix_stride_name(facts.tensors[argument.index]);
    case ArgumentKind::scalar:
      return facts.request.text.scalars[argument.index];
    case ArgumentKind::workspace:
      return "workspace";
    case ArgumentKind::raster:
      return "raster";
    case ArgumentKind::prepared:
      return "prepared";
    case ArgumentKind::prepares:
      return "prepares";
    case ArgumentKind::tensor_map:
      return "map_" + facts.tensors[argument.index].name;
  }
  return "";
}

std::vector<std::string> arguments(const SourceFacts& facts) {
  std::vector<std::string> result;
  for (const KernelArgument& argument : facts.signature) {
    result.push_back("&" + argument_name(facts, argument));
  }
  return result;
}

std::string map_arguments(const SourceFacts& facts) {
  std::vector<std::string> maps;
  for (const KernelArgument& argument : facts.signature) {
    if (argument.kind == ArgumentKind::tensor_map) maps.push_back(argument_name(facts, argument));
  }
  return maps.empty() ? "" : fmt::format("{}{{}}", fmt::join(maps, "{}, "));
}

// The arguments of make_tensor_map() behind the address. A matrix that all products of a batch have
// is the only one of its map.
std::string map_extents(const SourceFacts& facts, std::size_t index) {
  const TensorDesc& tensor = facts.tensors[index];
  const auto [box_rows, box_columns] = facts.geometry.tensor_boxes[index];
  const std::string row_stride = row_stride_name(tensor);
  const auto bytes = [&](const std::string& elements) {
    return fmt::format("uint64_t{{{}}} * {}", size_bytes(tensor.type), elements);
  };
  if (!facts.is_batch()) {
    return fmt::format("{{{}, {}}}, {{{}}}, {{{}, {}}}", tensor.columns, tensor.rows,
                       bytes(row_stride), box_columns, box_rows);
  }
  const std::string stride = matrix_stride_name(tensor);
  return fmt::format(
      "{{{}, {}, static_cast<uint64_t>({} == 0 ? 1 : {})}},\n"
      "                            {{{}, {}}},\n"
      "                            {{{}, {}, 1}}",
      tensor.columns, tensor.rows, stride, facts.request.text.batch, bytes(row_stride),
      bytes(fmt::format("({0} == 0 ? {1} : {0})", stride, row_stride)), box_columns, box_rows);
}

std::string maps_made(const SourceFacts& facts) {
  std::string text;
  for (std::size_t i = 0; i < facts.tensors.size() && facts.two_forms; ++i) {
    if (!facts.geometry.needs_map(i)) continue;
    const TensorDesc& tensor = facts.tensors[i];
    text += fmt::format(
        "    error = make_tensor_map(&map_{0}, CU_TENSOR_MAP_DATA_TYPE_{1}, {0},\n"
        "                            {2});\n"
        "    if (error != cudaSuccess) return error;\n",
        tensor.name, tensor.type == ElementType::f64 ? "FLOAT64" : "FLOAT32",
        map_extents(facts, i));
  }
  if (!text.empty()) text.pop_back();
  return text;
}

std::string all_aligned(const SourceFacts& facts) {
  std::vector<std::string> conditions;
  for (const TensorDesc& tensor : facts.tensors) {
    const std::string row_stride = row_stride_name(tensor);
    conditions.push_back(fmt::format(
        "is_aligned({}, {} * {})", tensor.name, size_bytes(tensor.type),
        facts.is_batch() ? fmt::format("({} | {})", row_stride, matrix_stride_name(tensor))
                         : row_stride));
  }
  return fmt::format(
      "{}", fmt::join(conditions, facts.is_batch() ? " &&\n                       " : " && "));
}

// An expression.
std::string workspace_bytes(const SourceFacts& facts) {
  const LaunchGeometry& geometry = facts.geometry;
  if (geometry.resident_blocks_per_sm == 0 || geometry.workspace_bytes_per_block == 0) {
    return std::to_string(geometry.workspace_bytes());
  }
  return fmt::format("{} + size_t{{grid.x}} * grid.y * grid.z * {}",
                     4 * kWorkspaceCounters + geometry.workspace_bytes_shared,
                     geometry.workspace_bytes_per_block);
}

// Whether launches need cudaFuncAttributeMaxDynamicSharedMemorySize.
bool exceeds_default_shared(const SourceFacts& facts) {
  constexpr std::int64_t kDefault = 48 << 10;
  const std::int64_t most = std::max(facts.geometry.dynamic_shared_bytes,
                                     facts.geometry.preparation.dynamic_shared_bytes);
  return facts.request.kernel->shared_bytes(facts.request.configuration) + most > kDefault;
}

// A flag for filled().
std::string flag(bool value) {
  return value ? "1" : "";
}

// The blocks along x, as an expression.
std::string blocks_along_x(const SourceFacts& facts) {
  const std::int64_t blocks = facts.geometry.grid[0];
  if (!facts.is_batch()) return fmt::format("{}u", blocks);
  return fmt::format("static_cast<unsigned>({} * {})", blocks / facts.products(),
                     facts.request.text.batch);
}

// The most blocks of a grid in whole clusters, as an expression of the SMs.
std::string resident_blocks(const LaunchGeometry& geometry) {
  const std::int64_t cluster = geometry.blocks_per_cluster;
  const std::string all =
      fmt::format("{}u * static_cast<unsigned>(sms)", geometry.resident_blocks_per_sm);
  return cluster == 1 ? all : fmt::format("std::max({0} / {1}u, 1u) * {1}u", all, cluster);
}

void add_geometry(const SourceFacts& facts, TextValues& values) {
  const LaunchGeometry& geometry = facts.geometry;
  const auto& [blocks, threads, shared_bytes, shares] = geometry.preparation;
  const bool resident = geometry.resident_blocks_per_sm > 0;
  const bool prepares = blocks > 0;
  const std::string products = facts.is_batch() ? facts.request.text.batch + ", " : "";
  constexpr int kFirstToOverlap = 90;  // 10 * compute capability
  values.merge(TextValues{
      {"OVERLAPS", flag(geometry.waits_for_launch_before && facts.capability >= kFirstToOverlap)},
      {"SHARED_ABOVE_DEFAULT", flag(exceeds_default_shared(facts))},
      {"RESIDENT", resident ? std::to_string(geometry.resident_blocks_per_sm) : ""},
      {"RESIDENT_BLOCKS", resident_blocks(geometry)},
      {"GRID_X", blocks_along_x(facts)},
      {"GRID_PARAMETER", facts.is_batch() ? "int64_t " + products : ""},
      {"PRODUCTS", products},
      {"MOST_PRODUCTS", facts.is_batch() ? std::to_string(facts.products()) + ", " : ""},
      {"GRID_Y", std::to_string(geometry.grid[1])},
      {"GRID_Z", std::to_string(geometry.grid[2])},
      {"GRID", resident ? "grid"
                        : fmt::format("dim3({}, {}, {})", blocks_along_x(facts), geometry.grid[1],
                                      geometry.grid[2])},
      {"BLOCK", fmt::format("{}", fmt::join(geometry.block, ", "))},
      {"DYNAMIC_SHARED_BYTES", std::to_string(geometry.dynamic_shared_bytes)},
      {"PREPARE_BLOCKS", prepares ? std::to_string(blocks) : ""},
      {"PREPARE_THREADS", std::to_string(threads)},
      {"PREPARE_SHARED_BYTES", std::to_string(shared_bytes)},
      {"WORKSPACE_BYTES", workspace_bytes(facts)}});
}

}  // namespace

TextValues launch_values(const SourceFacts& facts) {
  constexpr std::size_t kArgumentsBegin = 23;
  const std::string maps = maps_made(facts);
  const bool resident = facts.geometry.resident_blocks_per_sm > 0;
  const bool more_can_fail = !maps.empty() || facts.geometry.preparation.blocks > 0;
  TextValues values = header_values(facts);  // NAME, PARAMETERS, FORMS
  values.merge(
      TextValues{{"KERNELS", kernel_forms(facts)},
                 {"ALIGNED_CODE", space_of(facts.aligned_kernel())},
                 {"OTHER_CODE", space_of(facts.other_kernel())},
                 {"CHECKS", checks(facts)},
                 {"SIZES", local_values(facts)},
                 {"OTHER_ERRORS", flag(!resident && more_can_fail)},
                 {"MAP_ARGUMENTS", map_arguments(facts)},
                 {"MAPS", maps},
                 {"MAP_EXTENTS", facts.is_batch() ? "3" : "2"},
                 {"MAP_STRIDES", facts.is_batch() ? "2" : "1"},
                 {"ALL_ALIGNED", all_aligned(facts)},
                 {"ARGUMENTS", wrapped(arguments(facts), kArgumentsBegin, kArgumentsBegin)}});
  add_geometry(facts, values);
  return values;
}

}  // namespace autotune
