// A device's measured rates as rows, with the hash over them. SQLite's exceptions pass through.
#pragma once

#include <optional>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/device_info.hpp"

namespace autotune {

// Replaces the rates of the same device class and environment. Wants a transaction around it.
void insert_rates(SQLite::Database& database, const std::string& device_class,
                  const Environment& environment, const DeviceRates& rates);

// Adds the rates of another database that this one lacks. Wants a transaction around it.
void merge_rates(SQLite::Database& database, SQLite::Database& other);

// Implements TuningDatabase::rates().
[[nodiscard]] std::optional<DeviceRates> select_rates(SQLite::Database& database,
                                                      const std::string& device_class,
                                                      const Environment& environment);

}  // namespace autotune
