// The disposable file of compiled kernels. Losing it costs compile time, nothing else, so no call
// throws: what cannot be read is a miss, what cannot be written is not kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/trial.hpp"

namespace autotune {

struct StoredCubin {
  std::string cubin;
  std::string log;
  Resources resources;
};

// Thread-safe, and several processes may share one file. Entries are compressed, hashed, and
// evicted least recently used first once the file passes its size limit. New entries are found at
// once and written in batches, the last with the destructor. A damaged file is made anew.
class CubinStore {
 public:
  static constexpr std::int64_t kUsualBytes = std::int64_t{1} << 30;

  // A store that could not be opened serves as an empty one; problem() says why: another user
  // could have written it, a newer version made it, no permission.
  static CubinStore open(const std::filesystem::path& path, std::int64_t max_bytes = kUsualBytes);
  // A store for a process that uses it now and then: the file is opened by the first use and stays
  // open; one that could not be opened, or was replaced, is opened again. Locks of other processes
  // are waited for no longer than `busy_timeout`. Each new entry is written at once.
  static CubinStore open_at_use(const std::filesystem::path& path,
                                std::chrono::milliseconds busy_timeout);
  // Keeps nothing.
  static CubinStore disabled();

  CubinStore(CubinStore&&) noexcept;
  CubinStore& operator=(CubinStore&&) noexcept;
  ~CubinStore();

  [[nodiscard]] std::optional<StoredCubin> find(const std::string& key);
  void put(const std::string& key, const StoredCubin& entry);
  // The last fault, empty when there was none.
  [[nodiscard]] std::string problem() const;
  // The same; later calls return only what happened since, and not the same fault again.
  [[nodiscard]] std::string take_problem();

 private:
  struct Implementation;
  explicit CubinStore(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation_;
};

// The key of a compilation: everything its bytes depend on.
[[nodiscard]] std::string cubin_key(const std::string& nvrtc_build, const std::string& source,
                                    const std::vector<std::string>& options);

}  // namespace autotune
