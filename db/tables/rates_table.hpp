// A device's measured rates as rows, with the hash over them. SQLite's exceptions pass through.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "db/tuning_database.hpp"

namespace autotune {

// Replaces the rates of the same device class and environment. Wants a transaction around it.
void insert_rates(SQLite::Database& database, const std::string& device_class,
                  const Environment& environment, const DeviceRates& rates);

// All of them, without the damaged rows, whose number is added to `damaged`.
[[nodiscard]] std::vector<StoredRates> select_all_rates(SQLite::Database& database,
                                                        std::int64_t* damaged = nullptr);
// Adds the rates of another database that this one lacks. Wants a transaction around it.
void merge_rates(SQLite::Database& database, std::span<const StoredRates> all);

// Implements TuningDatabase::rates().
[[nodiscard]] std::optional<DeviceRates> select_rates(SQLite::Database& database,
                                                      const std::string& device_class,
                                                      const Environment& environment);

}  // namespace autotune
