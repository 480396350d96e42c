#include "export/bundle/bundle_writer.hpp"

#include "autotune/error.hpp"
#include "autotune/version.hpp"

#include "core/compression.hpp"

namespace autotune {
std::string bundle_bytes(const BundleContent& content) {
  BundleIndex index{.version = kVersion,
                    .target = content.target,
                    .compiler = content.compiler,
                    .choices = content.choices,
                    .kernels = {}};
  std::string kernels;
  for (const auto& [key, cubin] : content.cubins) {
    const std::string packed = compressed(cubin, kBundleCompression);
    index.kernels.push_back({key, packed.size(), cubin.size(), bundled_kernel_hash(key, packed)});
    kernels += packed;
    if (cubin.size() > kMostCubinBytes || kernels.size() > kMostBundleBytes) {
      throw UsageError("the kernels are more than a bundle can hold");
    }
  }
  return bundle_head(index) + kernels;
}

}  // namespace autotune
