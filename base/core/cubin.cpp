#include "core/cubin.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <elf.h>

#include "core/hash.hpp"

namespace autotune {
namespace {

constexpr std::uint16_t kCudaMachine = 190;
// Kinds of records in .nv.info.
constexpr std::uint8_t kFrameSizeAttribute = 0x11;
constexpr std::uint8_t kRegisterCountAttribute = 0x2f;
constexpr int kMaxRegisters = 1023;  // per thread; no architecture has that many
constexpr std::uint8_t kFormatSizedValue = 0x04;
// From sm_90 on, a kernel's shared section begins with the bytes that the hardware reserves.
constexpr int kFirstWithReserved = 90;
constexpr std::int64_t kReservedBytes = 1024;

// Reads a structure at an offset, if it lies within the bytes.
template <typename T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::optional<std::string_view> slice(std::string_view bytes, std::uint64_t offset,
                                      std::uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.substr(offset, size);
}

// The text up to the next zero byte.
std::string_view text_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

struct Section {
  std::string_view name;
  Elf64_Shdr header;
  std::string_view body;  // empty for a section that takes no space in the file
};

// False for the compiler's version and options, and for tables of symbols: names of functions that
// were inlined stay in them, so a renamed one would look like other code.
bool is_code_or_data(const Section& section) {
  const auto type = section.header.sh_type;
  return type != SHT_NOTE && type != SHT_SYMTAB && type != SHT_STRTAB &&
         section.name != ".nv.info" && section.name != ".nv.callgraph";
}

std::optional<std::vector<Section>> read_sections(std::string_view image,
                                                  const Elf64_Ehdr& header) {
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return std::nullopt;
  std::vector<Section> sections;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto entry = read_at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (!entry) return std::nullopt;
    std::string_view body;
    if (entry->sh_type != SHT_NOBITS) {
      const auto found = slice(image, entry->sh_offset, entry->sh_size);
      if (!found) return std::nullopt;
      body = *found;
    }
    sections.push_back({{}, *entry, body});
  }
  if (header.e_shstrndx >= sections.size()) return std::nullopt;
  const std::string_view names = sections[header.e_shstrndx].body;
  for (Section& section : sections) section.name = text_at(names, section.header.sh_name);
  return sections;
}

// Returns a figure of a symbol in .nv.info, -1 if it is absent. The section consists of records:
// format, attribute, size, then the symbol's index and the value.
int figure_of(std::string_view info, std::uint8_t wanted, std::uint64_t symbol) {
  std::uint64_t at = 0;
  while (const auto head = read_at<std::uint32_t>(info, at)) {
    const auto format = static_cast<std::uint8_t>(*head & 0xff);
    const auto attribute = static_cast<std::uint8_t>(*head >> 8 & 0xff);
    const std::uint32_t size = format == kFormatSizedValue ? *head >> 16 : 0;
    at += sizeof *head;
    if (attribute == wanted && size == 8) {
      const auto index = read_at<std::uint32_t>(info, at);
      const auto value = read_at<std::int32_t>(info, at + 4);
      if (index && value && *index == symbol && *value >= 0) return *value;
    }
    at += size;
  }
  return -1;
}

const Section* find_section(const std::vector<Section>& sections, std::string_view name) {
  for (const Section& section : sections) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

// The index in the symbol table of the function of this name.
std::optional<std::uint64_t> symbol_index(const std::vector<Section>& sections,
                                          std::string_view name) {
  const Section* symbols = find_section(sections, ".symtab");
  const Section* names = find_section(sections, ".strtab");
  if (symbols == nullptr || names == nullptr) return std::nullopt;
  for (std::uint64_t i = 0;; ++i) {
    const auto symbol = read_at<Elf64_Sym>(symbols->body, i * sizeof(Elf64_Sym));
    if (!symbol) return std::nullopt;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && text_at(names->body, symbol->st_name) == name)
      return i;
  }
}

std::int64_t number_before(std::string_view text, std::string_view unit) {
  const std::size_t end = text.find(unit);
  if (end == std::string_view::npos) return -1;
  std::size_t start = end;
  while (start > 0 && text[start - 1] >= '0' && text[start - 1] <= '9') --start;
  std::int64_t value = -1;
  std::from_chars(text.data() + start, text.data() + end, value);
  return value;
}

}  // namespace

bool looks_like_elf(std::string_view image) {
  return image.substr(0, SELFMAG) == ELFMAG;
}

std::optional<CubinInfo> read_cubin(std::string_view image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  if (!header || !looks_like_elf(image) || header->e_machine != kCudaMachine) return std::nullopt;
  if (!slice(image, header->e_phoff, std::uint64_t{header->e_phnum} * sizeof(Elf64_Phdr))) {
    return std::nullopt;
  }
  const auto sections = read_sections(image, *header);
  if (!sections) return std::nullopt;

  CubinInfo info;
  // Newer files keep the architecture in the second byte of the flags, older ones in the first.
  const auto newer = static_cast<int>(header->e_flags >> 8 & 0xff);
  info.architecture = newer >= 50 ? newer : static_cast<int>(header->e_flags & 0xff);
  constexpr std::string_view kText = ".text.";
  for (const Section& section : *sections) {
    if (section.name.substr(0, kText.size()) != kText) continue;
    CubinKernel kernel{.name = std::string(section.name.substr(kText.size()))};
    const Section* figures = find_section(*sections, ".nv.info");
    const auto symbol = symbol_index(*sections, kernel.name);
    if (figures != nullptr && symbol) {
      kernel.registers = figure_of(figures->body, kRegisterCountAttribute, *symbol);
      if (kernel.registers > kMaxRegisters) kernel.registers = -1;
      kernel.stack_bytes = figure_of(figures->body, kFrameSizeAttribute, *symbol);
    }
    if (const Section* shared = find_section(*sections, ".nv.shared." + kernel.name)) {
      kernel.shared_bytes = static_cast<std::int64_t>(shared->header.sh_size);
      if (info.architecture >= kFirstWithReserved && kernel.shared_bytes >= kReservedBytes) {
        kernel.shared_bytes -= kReservedBytes;
      }
    }
    info.kernels.push_back(std::move(kernel));
  }
  return info;
}

std::string machine_code_hash(std::string_view image) {
  const auto header = read_at<Elf64_Ehdr>(image, 0);
  const auto info = read_cubin(image);
  if (!header || !info) return content_hash(image);
  FieldHasher hasher;
  hasher.add(std::int64_t{header->e_flags});
  for (const CubinKernel& kernel : info->kernels) {
    hasher.add(kernel.name).add(std::int64_t{kernel.registers}).add(kernel.stack_bytes);
  }
  const std::vector<Section> sections = *read_sections(image, *header);
  for (const Section& section : sections) {
    if (!is_code_or_data(section)) continue;
    hasher.add(section.name).add(static_cast<std::int64_t>(section.header.sh_size));
    hasher.add(section.body);
  }
  return hasher.digest();
}

PtxasFigures read_ptxas_log(std::string_view log, std::string_view kernel) {
  constexpr std::string_view kEntry = "Compiling entry function '";
  if (const std::size_t own = log.find(std::string(kEntry).append(kernel) += '\'');
      own != std::string_view::npos) {
    log = log.substr(own);
    log = log.substr(0, log.find(kEntry, 1));
  }
  PtxasFigures figures;
  figures.registers = static_cast<int>(number_before(log, " registers"));
  figures.stack_bytes = number_before(log, " bytes stack frame");
  const std::int64_t stores = number_before(log, " bytes spill stores");
  const std::int64_t loads = number_before(log, " bytes spill loads");
  if (figures.registers < 0) return figures;
  // A log that has the registers omits figures that are zero.
  figures.stack_bytes = std::max<std::int64_t>(figures.stack_bytes, 0);
  figures.spill_bytes = std::max<std::int64_t>(stores, 0) + std::max<std::int64_t>(loads, 0);
  figures.shared_bytes = std::max<std::int64_t>(number_before(log, " bytes smem"), 0);
  return figures;
}

}  // namespace autotune
