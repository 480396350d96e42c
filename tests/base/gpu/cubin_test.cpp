// Reading of cubins and compiler logs, whatever their bytes.
#include "core/cubin.hpp"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>
#include <elf.h>

#include "autotune/error.hpp"

#include "gpu/nvrtc.hpp"

namespace autotune::gpu {
namespace {

template <typename T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// An ELF file with what a cubin has of one kernel "k": 40 registers, 96 bytes of stack, and in its
// shared section the 1024 bytes that the hardware reserves before its own 512.
class HandMadeCubin {
 public:
  explicit HandMadeCubin(const std::string& tool_note = "", int registers = 40,
                         const std::string& code = std::string(128, '\0'),
                         const std::string& inlined_function = "") {
    const std::string symbol_names = std::string("\0k", 3) + inlined_function;
    const Elf64_Sym kernel{.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
    // Records of symbol 1.
    const std::uint32_t figures[] = {0x00082f04, 1, static_cast<std::uint32_t>(registers),
                                     0x00081104, 1, 96};
    add("", SHT_NULL, "");
    add(".strtab", SHT_STRTAB, symbol_names);
    add(".symtab", SHT_SYMTAB, bytes_of(Elf64_Sym{}) + bytes_of(kernel));
    add(".note.nv.tkinfo", SHT_NOTE, tool_note);
    add(".nv.info", SHT_LOPROC, bytes_of(figures));
    add(".text.k", SHT_PROGBITS, code);
    add(".nv.shared.k", SHT_NOBITS, "");
    headers_.back().sh_size = 1024 + 512;
    add(".shstrtab", SHT_STRTAB, "");
    headers_.back().sh_offset = body_.size();
    headers_.back().sh_size = names_.size();
    body_ += names_;
  }

  std::string image(unsigned flags) const {
    Elf64_Ehdr header{};
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_machine = 190;
    header.e_flags = flags;
    header.e_shoff = body_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<Elf64_Half>(headers_.size());
    header.e_shstrndx = static_cast<Elf64_Half>(headers_.size() - 1);
    std::string all = body_;
    all.replace(0, sizeof header, bytes_of(header));
    for (const Elf64_Shdr& section : headers_) all += bytes_of(section);
    return all;
  }

 private:
  void add(const std::string& name, unsigned type, const std::string& content) {
    headers_.push_back({.sh_name = static_cast<Elf64_Word>(names_.size()),
                        .sh_type = type,
                        .sh_offset = body_.size(),
                        .sh_size = content.size()});
    names_ += name + '\0';
    body_ += content;
  }

  std::string body_ = std::string(sizeof(Elf64_Ehdr), '\0');
  std::string names_;
  std::vector<Elf64_Shdr> headers_;
};

// A cubin of the compiler, where there is one; else the one made by hand.
const std::string& sample_cubin() {
  static const std::string cubin = [] {
    try {
      const CompileResult result = Nvrtc::open()->compile(
          "sample",
          "extern \"C\" __global__ void first(float* x) { __shared__ float s[128];\n"
          "  s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[threadIdx.x] = s[127]; }\n"
          "extern \"C\" __global__ void second(int* x) { *x = 1; }\n",
          {"-arch=sm_90"});
      if (result.ok) return result.image;
    } catch (const EnvironmentError&) {
      // no compiler here
    }
    return HandMadeCubin().image(0x5a);
  }();
  return cubin;
}

// Reads from memory of exactly this size, so that a sanitizer sees every byte too many.
std::optional<CubinInfo> read_exactly(std::string_view image) {
  const std::vector<char> copy(image.begin(), image.end());
  return read_cubin({copy.data(), copy.size()});
}

TEST_SUITE("read_cubin") {
  TEST_CASE("reads registers and shared bytes without what is reserved") {
    const auto info = read_exactly(HandMadeCubin().image(0x5a));
    REQUIRE(info);
    CHECK(info->architecture == 90);
    REQUIRE(info->kernels.size() == 1);
    CHECK(info->kernels[0].name == "k");
    CHECK(info->kernels[0].registers == 40);
    CHECK(info->kernels[0].stack_bytes == 96);
    CHECK(info->kernels[0].shared_bytes == 512);
  }

  TEST_CASE("reads the architecture of newer and older files") {
    CHECK(read_cubin(HandMadeCubin().image(0x6405a04))->architecture == 90);
    const auto older = read_cubin(HandMadeCubin().image(75));
    CHECK(older->architecture == 75);
    CHECK(older->kernels[0].shared_bytes == 1024 + 512);  // nothing is reserved there
  }

  TEST_CASE("reads every kernel of a real cubin") {
    const auto info = read_exactly(sample_cubin());
    REQUIRE(info);
    CHECK(info->architecture == 90);
    REQUIRE(!info->kernels.empty());
    for (const CubinKernel& kernel : info->kernels) {
      CAPTURE(kernel.name);
      CHECK(kernel.registers > 0);
      CHECK(kernel.registers <= 255);
      CHECK(kernel.stack_bytes == (kernel.name == "k" ? 96 : 0));
      CHECK(kernel.shared_bytes == (kernel.name == "second" ? 0 : 512));
    }
  }

  TEST_CASE("knows other files from cubins") {
    CHECK_FALSE(looks_like_elf(""));
    CHECK_FALSE(looks_like_elf("// PTX"));
    CHECK(looks_like_elf(sample_cubin()));
    CHECK_FALSE(read_cubin(""));
    CHECK_FALSE(read_cubin("// PTX"));
    std::string other_machine = HandMadeCubin().image(0x5a);
    other_machine[18] = 62;  // x86-64
    CHECK_FALSE(read_cubin(other_machine));
  }

  TEST_CASE("no cubin that is cut short is taken for a whole one") {
    const std::string made_by_hand = HandMadeCubin().image(0x5a);
    for (const std::string& whole : {made_by_hand, sample_cubin()}) {
      std::size_t taken = 0;
      for (std::size_t size = 0; size < whole.size(); ++size) {
        taken += read_exactly(std::string_view(whole).substr(0, size)).has_value();
      }
      CHECK(taken == 0);
    }
  }

  TEST_CASE("flipped bytes are read within bounds") {
    std::mt19937 random(1);
    const std::string made_by_hand = HandMadeCubin().image(0x5a);
    int refused = 0;
    for (int i = 0; i < 2000; ++i) {
      std::string image = i % 2 == 0 ? sample_cubin() : made_by_hand;
      for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
        image[random() % image.size()] ^= static_cast<char>(1 << random() % 8);
      }
      const auto info = read_exactly(image);
      refused += !info;
      if (!info) continue;
      for (const CubinKernel& kernel : info->kernels) CHECK(kernel.registers < 1024);
    }
    CHECK(refused > 0);
  }
}

TEST_SUITE("machine_code_hash") {
  TEST_CASE("leaves out what the compiler was called with, and nothing that runs") {
    const std::string hash = machine_code_hash(HandMadeCubin("-v").image(0x5a));
    CHECK(machine_code_hash(HandMadeCubin("-v -regUsageLevel 5").image(0x5a)) == hash);
    CHECK(machine_code_hash(HandMadeCubin("-v", 41).image(0x5a)) != hash);
    CHECK(machine_code_hash(HandMadeCubin("-v").image(0x59)) != hash);
    const std::string other_code(127, '\0');
    CHECK(machine_code_hash(HandMadeCubin("-v", 40, other_code + '\1').image(0x5a)) != hash);
    CHECK(machine_code_hash(HandMadeCubin("-v", 40, other_code).image(0x5a)) != hash);
  }

  TEST_CASE("leaves out the names of functions that were inlined") {
    const std::string code(128, '\0');
    CHECK(machine_code_hash(HandMadeCubin("-v", 40, code, "next_tile").image(0x5a)) ==
          machine_code_hash(HandMadeCubin("-v", 40, code, "next").image(0x5a)));
  }

  TEST_CASE("takes bytes that are not a cubin as they are") {
    CHECK(machine_code_hash("// PTX 1") == machine_code_hash("// PTX 1"));
    CHECK(machine_code_hash("// PTX 1") != machine_code_hash("// PTX 2"));
    const std::string torn = HandMadeCubin().image(0x5a).substr(0, 100);
    CHECK(machine_code_hash(torn) != machine_code_hash(torn.substr(0, 99)));
  }
}

TEST_SUITE("read_ptxas_log") {
  TEST_CASE("reads a log without spills") {
    const PtxasFigures figures = read_ptxas_log(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Function properties for k\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 40 registers, used 1 barriers, 4096 bytes smem\n"
        "ptxas info    : Compile time = 12.345 ms\n",
        "k");
    CHECK(figures.registers == 40);
    CHECK(figures.stack_bytes == 0);
    CHECK(figures.spill_bytes == 0);
    CHECK(figures.shared_bytes == 4096);
  }

  TEST_CASE("reads a log with spills and adds up stores and loads") {
    const PtxasFigures figures = read_ptxas_log(
        "ptxas info    : Compiling entry function 'k' for 'sm_80'\n"
        "ptxas info    : Function properties for k\n"
        "    128 bytes stack frame, 200 bytes spill stores, 216 bytes spill loads\n"
        "ptxas info    : Used 255 registers, 16384 bytes smem, 400 bytes cmem[0]\n",
        "k");
    CHECK(figures.registers == 255);
    CHECK(figures.stack_bytes == 128);
    CHECK(figures.spill_bytes == 416);
    CHECK(figures.shared_bytes == 16384);
  }

  TEST_CASE("reads what belongs to one of several kernels") {
    const std::string log =
        "ptxas info    : Compiling entry function 'k_pack' for 'sm_90'\n"
        "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 40 registers, 4096 bytes smem\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "ptxas info    : Used 200 registers\n"
        "ptxas info    : Compiling entry function 'last' for 'sm_90'\n"
        "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 41 registers, 4096 bytes smem\n";
    CHECK(read_ptxas_log(log, "k").registers == 200);
    CHECK(read_ptxas_log(log, "k").spill_bytes == 0);
    CHECK(read_ptxas_log(log, "k").shared_bytes == 0);
    CHECK(read_ptxas_log(log, "k_pack").shared_bytes == 4096);
    CHECK(read_ptxas_log(log, "nobody").registers == 40);
  }

  TEST_CASE("what a log leaves out is nothing") {
    const PtxasFigures figures = read_ptxas_log("ptxas info    : Used 8 registers\n", "k");
    CHECK(figures.registers == 8);
    CHECK(figures.stack_bytes == 0);
    CHECK(figures.spill_bytes == 0);
    CHECK(figures.shared_bytes == 0);
  }

  TEST_CASE("a log without figures says nothing") {
    for (const std::string log : {"", "k.cu(3): error: expected a \";\"\n", " registers",
                                  "many registers", "99999999999999999999999 registers"}) {
      CAPTURE(log);
      const PtxasFigures figures = read_ptxas_log(log, "k");
      CHECK(figures.registers == -1);
      CHECK(figures.spill_bytes == -1);
      CHECK(figures.shared_bytes == -1);
    }
  }
}

}  // namespace
}  // namespace autotune::gpu
