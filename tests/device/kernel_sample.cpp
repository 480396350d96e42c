#include "tests/device/kernel_sample.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "kernel_templates/kernel_set.hpp"

namespace autotune {

std::size_t sample_size() {
  const char* text = std::getenv("AUTOTUNE_DEVICE_TEST_SAMPLE");
  return text == nullptr ? 0 : static_cast<std::size_t>(std::strtoul(text, nullptr, 10));
}

std::vector<const KernelTemplate*> chosen_templates(const DeviceInfo& device) {
  const char* only = std::getenv("AUTOTUNE_DEVICE_TEST_TEMPLATE");
  std::vector<const KernelTemplate*> chosen;
  for (const KernelTemplate& kernel : built_in_kernels().templates()) {
    if (only != nullptr && kernel.name != only) continue;
    if (!runs_on(kernel, 10 * device.compute_major + device.compute_minor)) continue;
    chosen.push_back(&kernel);
  }
  return chosen;
}

std::vector<Configuration> all_configurations(const KernelTemplate& kernel,
                                              const DeviceInfo& device) {
  return kernel.space.enumerate(device_constraints(kernel, device)).configurations;
}

std::vector<Configuration> sampled(std::vector<Configuration> all, std::size_t otherwise) {
  const std::size_t wanted = sample_size() > 0 ? sample_size() : otherwise;
  std::shuffle(all.begin(), all.end(), std::mt19937(1));
  std::set<Configuration::Entry> covered;
  const auto adds_nothing = [&](const Configuration& configuration) {
    const std::size_t before = covered.size();
    covered.insert(configuration.entries().begin(), configuration.entries().end());
    return covered.size() == before;
  };
  const auto rest = std::stable_partition(
      all.begin(), all.end(), [&](const Configuration& one) { return !adds_nothing(one); });
  const auto needed = static_cast<std::size_t>(rest - all.begin());
  all.resize(std::min(all.size(), std::max(needed, wanted)));
  return all;
}

std::vector<std::string> compile_all(const Gpu& gpu, const KernelTemplate& kernel,
                                     const std::vector<Configuration>& configurations,
                                     const CodeTraits& traits) {
  using Image = std::pair<const std::vector<std::string>, std::string>;  // of these options
  std::map<Image::first_type, Image::second_type> images;
  std::vector<const Image*> of_configurations;
  for (const Configuration& configuration : configurations) {
    of_configurations.push_back(
        &*images.try_emplace(compile_options(kernel, configuration, traits, gpu.target)).first);
  }
  std::vector<Image*> all;
  for (Image& image : images) all.push_back(&image);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      all[i]->second =
          gpu.nvrtc->compile(kernel.name, std::string(kernel.source), all[i]->first).image;
    }
  };
  std::vector<std::jthread> threads(std::max(1U, std::thread::hardware_concurrency()));
  for (std::jthread& thread : threads) thread = std::jthread(work);
  threads.clear();
  std::vector<std::string> result;
  for (const Image* image : of_configurations) result.push_back(image->second);
  return result;
}

}  // namespace autotune
