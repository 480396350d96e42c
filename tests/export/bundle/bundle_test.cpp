// Bundles: what is written is read, and nothing else is.
#include "export/bundle/bundle.hpp"

#include <fstream>
#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "core/compression.hpp"
#include "core/hash.hpp"
#include "export/bundle/bundle_writer.hpp"
#include "tests/support/run_program.hpp"

namespace autotune::test {
namespace {

BundleContent some_content() {
  const Problem problem("gemm", {{"m", 64}, {"n", 48}, {"k", 32}}, {{"layout", "NN"}});
  const Problem other("gemm", {{"m", 64}, {"n", 48}, {"k", 33}}, {{"layout", "NN"}});
  const Configuration configuration({{"UNROLL", 4}, {"WIDTH", 16}});
  return {.target = {"sm_90", "NVIDIA H200"},
          .compiler = "13.0.88 CL-1",
          .choices = {{problem, "gemm_simt", 3, configuration, MatchKind::exact, "tuned", problem,
                       12.5},
                      {other, "gemm_tiled", 1, configuration, MatchKind::nearest_size, "near",
                       problem, std::nullopt}},
          .cubins = {{"first", std::string(3000, 'x')}, {"second", "cubin of the second"}}};
}

// A bundle's file.
struct BundleFile {
  TemporaryFolder folder;
  std::string path = folder.path() / "app.bundle";

  explicit BundleFile(const std::string& bytes) { write(bytes); }
  void write(const std::string& bytes) const { std::ofstream(path, std::ios::binary) << bytes; }

  // What is thrown when it is opened and every kernel is asked for, without the path.
  [[nodiscard]] std::string fault() const {
    try {
      const Bundle bundle(path);
      for (const auto& [key, cubin] : some_content().cubins) {
        if (bundle.cubin(key) != cubin) return "another kernel";
      }
      return "";
    } catch (const StorageError& error) {
      const std::string text = error.what();
      const std::string begin = "bundle " + path + ": ";
      REQUIRE(text.substr(0, begin.size()) == begin);
      return text.substr(begin.size());
    }
  }
};

// A head whose hash is right, with kernels of which nothing else is.
std::string bytes_with(const std::vector<BundleIndex::Kernel>& kernels, const std::string& rest,
                       const std::string& version = kVersion) {
  return bundle_head({.version = version,
                      .target = {"sm_90", ""},
                      .compiler = "",
                      .choices = {},
                      .kernels = kernels}) +
         rest;
}

TEST_SUITE("bundle") {
  TEST_CASE("what was written is read") {
    const BundleFile file(bundle_bytes(some_content()));
    const Bundle bundle(file.path);
    CHECK(bundle.target().text() == "NVIDIA H200 (sm_90)");
    CHECK(BundleTarget{"sm_90", ""}.text() == "sm_90");
    CHECK(bundle.compiler() == "13.0.88 CL-1");
    CHECK(bundle.kernels() == 2);
    CHECK(bundle.has("first"));
    CHECK_FALSE(bundle.has("third"));
    CHECK(bundle.cubin("first") == std::string(3000, 'x'));
    CHECK(bundle.cubin("second") == "cubin of the second");
    REQUIRE(bundle.choices().size() == 2);
    const BundledChoice& first = bundle.choices().front();
    CHECK(first.problem.key() == "gemm m=64 n=48 k=32 layout=NN");
    CHECK(first.template_name == "gemm_simt");
    CHECK(first.space_version == 3);
    CHECK(to_string(first.configuration) == "UNROLL=4,WIDTH=16");
    CHECK(first.match == MatchKind::exact);
    CHECK(first.explanation == "tuned");
    CHECK(first.median_us == 12.5);
    const BundledChoice& second = bundle.choices().back();
    CHECK(second.match == MatchKind::nearest_size);
    CHECK(second.tuned_for == first.problem);
    CHECK_FALSE(second.median_us.has_value());
  }

  TEST_CASE("a byte that changed is noticed wherever it is") {
    const std::string bytes = bundle_bytes(some_content());
    BundleFile file(bytes);
    REQUIRE(file.fault() == "");
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      CAPTURE(at);
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ 0x10);
      file.write(changed);
      CHECK(file.fault() != "");
    }
  }

  TEST_CASE("an index that would take the stack or the memory is refused") {
    const std::string sound = bundle_bytes(some_content());
    const std::string mark = sound.substr(0, sound.find(' ', kBundleMark.size()) + 1);
    const auto fault_of = [&](const std::string& index) {
      const std::string packed = compressed(index, 1);
      const std::string before = fmt::format("{}{:016x} ", mark, packed.size());
      return BundleFile(before + content_hash(before + packed) + "\n" + packed).fault();
    };
    const std::string many(10'000'000, '\x80');
    for (const std::string& index : {std::string(1'000'000, '\x81') + "\xf6",
                                     std::string(1'000'000, '\x9f'), std::string(1'000'000, '\x7f'),
                                     std::string({'\x9a', 0, '\x98', '\x96', '\x80'}) + many}) {
      CHECK(fault_of(index) == "is damaged: its index cannot be read");
    }
  }

  TEST_CASE("a file that was cut, or has more behind it, is refused") {
    const std::string bytes = bundle_bytes(some_content());
    BundleFile file("");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CAPTURE(size);
      file.write(bytes.substr(0, size));
      CHECK(file.fault() != "");
    }
    file.write(bytes + "x");
    CHECK(file.fault() == "is damaged: there is more behind its kernels");
  }

  TEST_CASE("what it says of its lengths is not believed") {
    const auto fault_of = [](const std::vector<BundleIndex::Kernel>& kernels,
                             const std::string& rest) {
      return BundleFile(bytes_with(kernels, rest)).fault();
    };
    constexpr std::uint64_t kAll = std::numeric_limits<std::int64_t>::max();
    CHECK(fault_of({{"first", 4, 4, ""}}, "abc") == "is damaged: it ends within its kernels");
    CHECK(fault_of({{"first", kAll, 4, ""}, {"second", 4, 4, ""}}, "abc") ==
          "is damaged: it ends within its kernels");
    CHECK(fault_of({{"first", 3, kAll, ""}}, "abc") == "is damaged: a kernel is too large");
    CHECK(fault_of({{"first", 1, 1, ""}, {"first", 2, 1, ""}}, "abc") ==
          "is damaged: it has a kernel twice");
    // A kernel that is longer or shorter than it says, with a hash that is right.
    const std::string bytes = bundle_bytes(some_content());
    const BundleHead head = read_bundle_head(bytes);
    for (const std::uint64_t plain : {2999, 3001}) {
      std::vector<BundleIndex::Kernel> kernels = head.index.kernels;
      kernels.front().plain_bytes = plain;
      CHECK(fault_of(kernels, bytes.substr(head.bytes)) ==
            "is damaged: a kernel is not what was written");
    }
  }

  TEST_CASE("other files, formats and versions are refused by name") {
    BundleFile file("an ELF file, say");
    CHECK(file.fault() == "is not a bundle of autotune");
    file.write("autotune bundle 2 anything");
    CHECK(file.fault() ==
          "has a format that this version of autotune does not read: export it anew");
    file.write(bytes_with({}, "", "0.0.9"));
    CHECK(file.fault() == std::string("was written by autotune 0.0.9, and this is ") + kVersion +
                              ": export it anew");
    CHECK_THROWS_WITH_AS(Bundle("/nonexistent/app.bundle"),
                         "bundle /nonexistent/app.bundle: cannot be read: No such file or "
                         "directory",
                         StorageError);
    CHECK_THROWS_WITH_AS(Bundle("/dev/zero"), "bundle /dev/zero: is not a file", StorageError);
    const std::string pipe = file.folder.path() / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THROWS_AS(Bundle{pipe}, StorageError);
  }

  TEST_CASE("a file that changes later changes nothing") {
    BundleFile file(bundle_bytes(some_content()));
    const Bundle bundle(file.path);
    file.write("");
    CHECK(bundle.cubin("second") == "cubin of the second");
  }

  TEST_CASE("the same content has the same bytes") {
    CHECK(bundle_bytes(some_content()) == bundle_bytes(some_content()));
  }
}

}  // namespace
}  // namespace autotune::test
