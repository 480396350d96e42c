// The form of a bundle's bytes. A file is a head, which says what is in it, and behind it the
// kernels, each compressed with zstd, one after the other in the order of the head.
//
//   autotune bundle 1 <bytes of the index, 16 hex digits> <hash, 32 hex digits>\n
//   <the index: CBOR, compressed with zstd>
//
// The hash covers everything before it and the index, which has a hash of each kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autotune/configuration.hpp"
#include "autotune/match_kind.hpp"

#include "core/problem.hpp"

namespace autotune {

// The first bytes of every bundle.
inline constexpr std::string_view kBundleMark = "autotune bundle ";

// The most bytes of a file, and of one kernel.
inline constexpr std::uint64_t kMostBundleBytes = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMostCubinBytes = std::uint64_t{64} << 20;

// The level of zstd that gives the fewest bytes: a bundle is written once and read often.
inline constexpr int kBundleCompression = 19;

// A configuration that was chosen for a problem.
struct BundledChoice {
  Problem problem;
  std::string template_name;
  int space_version = 0;
  Configuration configuration;
  MatchKind match = MatchKind::predicted;
  std::string explanation;  // one line
  Problem tuned_for;
  std::optional<double> median_us;  // of one launch, as measured for tuned_for
};

struct BundleTarget {
  std::string architecture;  // "sm_90"
  std::string device;        // a device's name; empty: any of the architecture

  // "NVIDIA H200 (sm_90)", or the architecture alone.
  [[nodiscard]] std::string text() const;
};

struct BundleIndex {
  // A kernel's place is behind those before it.
  struct Kernel {
    std::string key;
    std::uint64_t bytes = 0;        // in the file
    std::uint64_t plain_bytes = 0;  // of the cubin
    std::string hash;               // of the key and the bytes in the file
  };
  std::string version;  // of the library that wrote it
  BundleTarget target;
  std::string compiler;  // "13.0.88 CL-36424714"
  std::vector<BundledChoice> choices;
  std::vector<Kernel> kernels;
};

[[nodiscard]] std::string bundle_head(const BundleIndex& index);

struct BundleHead {
  BundleIndex index;
  std::size_t bytes = 0;  // the kernels begin behind them
};
// Throws StorageError, in words that follow the file's name, for bytes that bundle_head() did not
// make, and where the kernels of the index are not the rest of the file.
[[nodiscard]] BundleHead read_bundle_head(std::string_view file);

// The hash of a kernel, by its bytes in the file.
[[nodiscard]] std::string bundled_kernel_hash(const std::string& key, std::string_view bytes);

}  // namespace autotune
