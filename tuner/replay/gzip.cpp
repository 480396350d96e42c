#include "tuner/replay/gzip.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#define ZLIB_CONST  // what is read is constant
#include <zlib.h>

namespace autotune {

std::optional<std::string> unzipped(std::string_view packed, std::uint64_t max_bytes) {
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return std::nullopt;
  const std::unique_ptr<z_stream, decltype(&inflateEnd)> end(&stream, &inflateEnd);
  std::string plain;
  std::string block(std::size_t{1} << 16, '\0');
  int state = Z_OK;
  while (state != Z_STREAM_END || !packed.empty()) {
    if (state == Z_STREAM_END && inflateReset(&stream) != Z_OK) return std::nullopt;
    // Its counters are narrower than sizes are.
    const std::size_t offered =
        std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max());
    stream.next_in = reinterpret_cast<const Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(offered);
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    state = inflate(&stream, Z_NO_FLUSH);
    // Z_BUF_ERROR: it ends within a file.
    if (state != Z_OK && state != Z_STREAM_END) return std::nullopt;
    packed.remove_prefix(offered - stream.avail_in);
    plain.append(block, 0, block.size() - stream.avail_out);
    if (plain.size() > max_bytes) return std::nullopt;
  }
  return plain;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

}  // namespace autotune
