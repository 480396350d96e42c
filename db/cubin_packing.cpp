#include "db/cubin_packing.hpp"

#include <nlohmann/json.hpp>
#include <zstd.h>

#include "autotune/error.hpp"

#include "core/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// A level that compresses faster than the disk writes.
constexpr int kCompressionLevel = 3;
constexpr unsigned long long kMaxPlainBytes = 256ULL << 20;

// As bytes, since neither need be UTF-8.
json binary(const std::string& bytes) {
  return json::binary({bytes.begin(), bytes.end()});
}

std::string text(const json& binary) {
  const auto& bytes = binary.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

std::string pack(const StoredCubin& entry) {
  std::string plain;
  json::to_cbor(
      {{"cubin", binary(entry.cubin)}, {"log", binary(entry.log)}, {"resources", entry.resources}},
      plain);
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  const std::size_t size =
      ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), kCompressionLevel);
  if (ZSTD_isError(size) != 0) throw Error("a cubin cannot be compressed");
  packed.resize(size);
  return packed;
}

std::optional<StoredCubin> unpack(const std::string& packed) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > kMaxPlainBytes) return std::nullopt;  // also the codes for "unknown" and "error"
  std::string plain(size, '\0');
  if (ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size()) != size) {
    return std::nullopt;
  }
  const json body = json::from_cbor(plain);
  return StoredCubin{text(body.at("cubin")), text(body.at("log")),
                     body.at("resources").get<Resources>()};
}

}  // namespace autotune
