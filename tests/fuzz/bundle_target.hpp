// Damaged bundles.
#pragma once

#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "core/compression.hpp"
#include "core/hash.hpp"
#include "export/bundle/bundle.hpp"
#include "export/bundle/bundle_writer.hpp"
#include "tests/db/db_fixture.hpp"
#include "tests/fuzz/damaged_input.hpp"

namespace autotune::test {

// Damages files, and the index of files whose hash is right all the same.
struct BundleFileTarget {
  TemporaryFolder folder;
  BundleContent content = {
      .target = {"sm_90", "NVIDIA H200"},
      .compiler = "13.0.88",
      .choices = {{square(64), "gemm_simt", 1, some_winner(64, 1).configuration, MatchKind::exact,
                   "tuned", square(64), 1.5}},
      .cubins = {{"first", std::string(500, 'x')}, {"second", "cubin"}}};
  std::string file = bundle_bytes(content);
  Corpus corpus = {file, decompressed(file.substr(kHeadLine, index_bytes()), 1 << 20).value()};

  void operator()(const std::string& input) const {
    const bool is_file = input.compare(0, kBundleMark.size(), kBundleMark) == 0;
    write_bytes(folder / "input.bundle", is_file ? input : with_index(input));
    read([&] {
      const Bundle bundle(folder / "input.bundle");
      for (const auto& [key, cubin] : content.cubins) {
        if (bundle.has(key)) require(bundle.cubin(key) == cubin, "another kernel");
      }
    });
  }

 private:
  static constexpr std::size_t kHashAt = kBundleMark.size() + 19;  // "1 ", 16 digits, " "
  static constexpr std::size_t kHeadLine = kHashAt + 33;

  [[nodiscard]] std::size_t index_bytes() const { return read_bundle_head(file).bytes - kHeadLine; }

  [[nodiscard]] std::string with_index(const std::string& index) const {
    const std::string packed = compressed(index, 1);
    const std::string before = fmt::format("{}1 {:016x} ", kBundleMark, packed.size());
    return before + content_hash(before + packed) + "\n" + packed +
           file.substr(read_bundle_head(file).bytes);
  }
};

}  // namespace autotune::test
