#include "core/compression.hpp"

#include <memory>
#include <new>

#include <zstd.h>
#include <zstd_errors.h>

#include "autotune/error.hpp"

namespace autotune {
namespace {

using Decompressor = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

Decompressor make_decompressor() {
  Decompressor made(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

std::string compressed(std::string_view plain, int level) {
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), level);
  if (ZSTD_isError(size) != 0) throw Error("data cannot be compressed");
  packed.resize(size);
  return packed;
}

// Decompresses a stream, because files that were compressed as one lack their original size.
std::optional<std::string> decompressed(std::string_view packed, std::uint64_t max_bytes) {
  const Decompressor context = make_decompressor();
  ZSTD_inBuffer in = {packed.data(), packed.size(), 0};
  std::string block(ZSTD_DStreamOutSize(), '\0');
  std::string plain;
  std::size_t left = 1;  // 0 at the end of a frame
  while (in.pos < in.size || left != 0) {
    ZSTD_outBuffer out = {block.data(), block.size(), 0};
    const std::size_t before = in.pos;
    left = ZSTD_decompressStream(context.get(), &out, &in);
    const bool stuck = in.pos == before && out.pos == 0;  // it ends within a frame
    if (ZSTD_getErrorCode(left) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(left) != 0 || plain.size() + out.pos > max_bytes || stuck) return std::nullopt;
    plain.append(block, 0, out.pos);
  }
  return plain;
}

std::string decompressed_beginning(std::string_view packed, std::size_t count) {
  const Decompressor context = make_decompressor();
  std::string plain(count, '\0');
  ZSTD_inBuffer in = {packed.data(), packed.size(), 0};
  ZSTD_outBuffer out = {plain.data(), plain.size(), 0};
  for (std::size_t before = packed.size(); in.pos != before && out.pos < out.size;) {
    before = in.pos;
    if (ZSTD_isError(ZSTD_decompressStream(context.get(), &out, &in)) != 0) break;
  }
  plain.resize(out.pos);
  return plain;
}

bool is_compressed(std::string_view bytes) {
  constexpr std::string_view kMagic = "\x28\xb5\x2f\xfd";
  return bytes.substr(0, kMagic.size()) == kMagic;
}

}  // namespace autotune
