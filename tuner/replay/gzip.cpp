#include "tuner/replay/gzip.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>

#define ZLIB_CONST  // what is read is constant
#include <zlib.h>

namespace autotune {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

// A stream that reads gzip files.
class Inflation {
 public:
  Inflation() {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflation() { inflateEnd(&stream_); }
  Inflation(const Inflation&) = delete;
  Inflation& operator=(const Inflation&) = delete;

  // Unpacks as much as `block` holds, whose size becomes what that is, and takes what was read off
  // `packed`. Returns zlib's state.
  int unpack(std::string_view& packed, std::string& block) {
    // Its counters are narrower than sizes are.
    const std::size_t offered =
        std::min<std::size_t>(packed.size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<const Bytef*>(packed.data());
    stream_.avail_in = static_cast<uInt>(offered);
    stream_.next_out = reinterpret_cast<Bytef*>(block.data());
    stream_.avail_out = static_cast<uInt>(block.size());
    const int state = inflate(&stream_, Z_NO_FLUSH);
    packed.remove_prefix(offered - stream_.avail_in);
    block.resize(block.size() - stream_.avail_out);
    return state;
  }
  bool begin_next() { return inflateReset(&stream_) == Z_OK; }

 private:
  z_stream stream_ = {};
};

}  // namespace

std::string zipped(std::string_view plain) {
  constexpr int kMostMemory = 9;
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipOnly, kMostMemory,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<z_stream, decltype(&deflateEnd)> end(&stream, &deflateEnd);
  std::string packed;
  std::string block(std::size_t{1} << 16, '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(plain.data());
  for (int state = Z_OK; state != Z_STREAM_END;) {
    const char* const next = reinterpret_cast<const char*>(stream.next_in);
    const auto left = static_cast<std::size_t>(plain.data() + plain.size() - next);
    stream.avail_in =
        static_cast<uInt>(std::min<std::size_t>(left, std::numeric_limits<uInt>::max()));
    const bool is_last = stream.avail_in == left;
    stream.next_out = reinterpret_cast<Bytef*>(block.data());
    stream.avail_out = static_cast<uInt>(block.size());
    state = deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    packed.append(block, 0, block.size() - stream.avail_out);
  }
  return packed;
}

std::optional<std::string> unzipped(std::string_view packed, std::uint64_t max_bytes) {
  Inflation inflation;
  std::string plain;
  std::string block;
  int state = Z_OK;
  while (state != Z_STREAM_END || !packed.empty()) {
    if (state == Z_STREAM_END && !inflation.begin_next()) return std::nullopt;
    block.resize(std::size_t{1} << 16);
    state = inflation.unpack(packed, block);
    // Z_BUF_ERROR: it ends within a file.
    if (state != Z_OK && state != Z_STREAM_END) return std::nullopt;
    if (plain.size() + block.size() > max_bytes) return std::nullopt;
    plain += block;
  }
  return plain;
}

std::string unzipped_beginning(std::string_view packed, std::size_t count) {
  std::string block(count, '\0');
  static_cast<void>(Inflation().unpack(packed, block));
  return block;
}

bool is_gzip(std::string_view bytes) {
  return bytes.starts_with("\x1f\x8b");
}

}  // namespace autotune
