#include "cpu/access_pattern.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace autotune {
namespace {

constexpr std::int64_t kSectorBytes = 32;
constexpr std::int64_t kBankBytes = 4;
constexpr std::int64_t kBanks = 32;

// The different pieces of `unit` bytes that the lanes from `first` to `last` touch.
std::set<std::int64_t> pieces(const WarpAccess& access, std::int64_t unit, std::size_t first,
                              std::size_t last) {
  std::set<std::int64_t> touched;
  for (std::size_t lane = first; lane < last; ++lane) {
    const std::int64_t begin = access.offsets[lane];
    const std::int64_t end = begin + access.bytes_per_lane;
    for (std::int64_t piece = begin / unit; piece * unit < end; ++piece) touched.insert(piece);
  }
  return touched;
}

// The number of passes for words of shared memory that are served together.
std::int64_t passes(const std::set<std::int64_t>& words) {
  std::array<std::int64_t, kBanks> words_of_bank{};
  for (const std::int64_t word : words) ++words_of_bank[static_cast<std::size_t>(word % kBanks)];
  return *std::max_element(words_of_bank.begin(), words_of_bank.end());
}

// Returns whether every lane accesses the same address as the lane `distance` further up or down in
// its group of twice as many lanes.
bool agree(const WarpAccess& access, std::size_t distance) {
  const std::vector<std::int64_t>& offsets = access.offsets;
  for (std::size_t lane = 0; lane < offsets.size(); ++lane) {
    const std::size_t partner = lane ^ distance;
    if (partner >= offsets.size() || offsets[lane] != offsets[partner]) return false;
  }
  return true;
}

// The lanes that shared memory serves together.
std::size_t lanes_of_group(const WarpAccess& access) {
  const auto lanes = static_cast<std::size_t>(kBanks * kBankBytes / access.bytes_per_lane);
  const bool merged = access.bytes_per_lane > kBankBytes && (agree(access, 1) || agree(access, 2));
  return merged ? 2 * lanes : lanes;
}

// Sums `cost` over the groups of lanes that shared memory serves one after the other.
template <typename Cost>
std::int64_t over_groups(const WarpAccess& access, Cost cost) {
  const std::size_t lanes = lanes_of_group(access);
  std::int64_t total = 0;
  for (std::size_t first = 0; first < access.offsets.size(); first += lanes) {
    const std::size_t last = std::min(first + lanes, access.offsets.size());
    total += cost(pieces(access, kBankBytes, first, last));
  }
  return total;
}

}  // namespace

std::int64_t transactions(const WarpAccess& access) {
  if (access.space == MemorySpace::shared) return over_groups(access, passes);
  return static_cast<std::int64_t>(pieces(access, kSectorBytes, 0, access.offsets.size()).size());
}

std::int64_t least_transactions(const WarpAccess& access) {
  if (access.space == MemorySpace::shared) {
    return over_groups(access, [](const std::set<std::int64_t>& words) {
      return (static_cast<std::int64_t>(words.size()) + kBanks - 1) / kBanks;
    });
  }
  const auto words = pieces(access, kBankBytes, 0, access.offsets.size());
  return (static_cast<std::int64_t>(words.size()) * kBankBytes + kSectorBytes - 1) / kSectorBytes;
}

std::vector<AccessSummary> summarize(const std::vector<WarpAccess>& accesses) {
  std::vector<AccessSummary> summaries;
  std::vector<double> counts;
  for (const WarpAccess& access : accesses) {
    auto same = std::find_if(summaries.begin(), summaries.end(), [&](const AccessSummary& s) {
      return s.name == access.name && s.bytes_per_lane == access.bytes_per_lane;
    });
    if (same == summaries.end()) {
      same = summaries.insert(same, {access.name, access.space, access.bytes_per_lane});
      counts.push_back(0);
    }
    same->transactions += static_cast<double>(transactions(access));
    same->least += static_cast<double>(least_transactions(access));
    ++counts[static_cast<std::size_t>(same - summaries.begin())];
  }
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    summaries[i].transactions /= counts[i];
    summaries[i].least /= counts[i];
  }
  return summaries;
}

}  // namespace autotune
