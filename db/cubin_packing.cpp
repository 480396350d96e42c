#include "db/cubin_packing.hpp"

#include <nlohmann/json.hpp>

#include "core/cbor.hpp"
#include "core/compression.hpp"
#include "core/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// A level that compresses faster than the disk writes.
constexpr int kCompressionLevel = 3;
constexpr std::uint64_t kMaxPlainBytes = std::uint64_t{256} << 20;

// Both are bytes, since neither need be UTF-8.
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
  return compressed(plain, kCompressionLevel);
}

std::optional<StoredCubin> unpack(const std::string& packed) {
  const std::optional<std::string> plain = decompressed(packed, kMaxPlainBytes);
  if (!plain) return std::nullopt;
  const std::optional<json> body = parsed_cbor(*plain);
  if (!body) return std::nullopt;
  return StoredCubin{text(body->at("cubin")), text(body->at("log")),
                     body->at("resources").get<Resources>()};
}

}  // namespace autotune
