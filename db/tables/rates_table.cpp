#include "db/tables/rates_table.hpp"

#include <cmath>

#include <SQLiteCpp/VariadicBind.h>

#include "core/hash.hpp"

namespace autotune {
namespace {

std::string hash_of(const std::string& device_class, const Environment& environment,
                    const DeviceRates& rates) {
  return FieldHasher()
      .add(device_class)
      .add(environment.driver)
      .add(environment.nvrtc_build)
      .add(std::int64_t{environment.measuring_protocol})
      .add(rates.fma_gflops)
      .add(rates.copy_gbps)
      .digest();
}

constexpr const char* kRatesColumns =
    "SELECT fma_gflops, copy_gbps, row_hash, device_class, driver, nvrtc_build, protocol FROM "
    "rates";

// nullopt when the row is damaged.
std::optional<DeviceRates> rates_from(const SQLite::Statement& row, const std::string& device_class,
                                      const Environment& environment) {
  const DeviceRates found = {row.getColumn(0), row.getColumn(1)};
  if (hash_of(device_class, environment, found) != row.getColumn(2).getString()) {
    return std::nullopt;
  }
  if (!std::isfinite(found.fma_gflops) || !std::isfinite(found.copy_gbps)) return std::nullopt;
  return found;
}

}  // namespace

void insert_rates(SQLite::Database& database, const std::string& device_class,
                  const Environment& environment, const DeviceRates& rates) {
  SQLite::Statement insert(
      database,
      "INSERT OR REPLACE INTO rates (device_class, driver, nvrtc_build, protocol, fma_gflops,"
      " copy_gbps, row_hash) VALUES (?, ?, ?, ?, ?, ?, ?)");
  SQLite::bind(insert, device_class, environment.driver, environment.nvrtc_build,
               environment.measuring_protocol, rates.fma_gflops, rates.copy_gbps,
               hash_of(device_class, environment, rates));
  insert.exec();
}

std::optional<DeviceRates> select_rates(SQLite::Database& database, const std::string& device_class,
                                        const Environment& environment) {
  SQLite::Statement select(
      database, std::string(kRatesColumns) +
                    " WHERE device_class = ? AND driver = ? AND nvrtc_build = ? AND protocol = ?");
  SQLite::bind(select, device_class, environment.driver, environment.nvrtc_build,
               environment.measuring_protocol);
  if (!select.executeStep()) return std::nullopt;
  return rates_from(select, device_class, environment);
}

std::vector<StoredRates> select_all_rates(SQLite::Database& database, std::int64_t* damaged) {
  SQLite::Statement rows(database, kRatesColumns);
  std::vector<StoredRates> result;
  while (rows.executeStep()) {
    const std::string device_class = rows.getColumn(3);
    const Environment environment = {.driver = rows.getColumn(4),
                                     .nvrtc_build = rows.getColumn(5),
                                     .measuring_protocol = rows.getColumn(6)};
    const std::optional<DeviceRates> rates = rates_from(rows, device_class, environment);
    if (rates) result.push_back({device_class, environment, *rates});
    if (!rates && damaged != nullptr) ++*damaged;
  }
  return result;
}

void merge_rates(SQLite::Database& database, std::span<const StoredRates> all) {
  for (const auto& [device_class, environment, rates] : all) {
    if (select_rates(database, device_class, environment)) continue;
    insert_rates(database, device_class, environment, rates);
  }
}

}  // namespace autotune
