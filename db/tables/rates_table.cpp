#include "db/tables/rates_table.hpp"

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
      database,
      "SELECT fma_gflops, copy_gbps, row_hash FROM rates WHERE device_class = ? AND driver = ?"
      " AND nvrtc_build = ? AND protocol = ?");
  SQLite::bind(select, device_class, environment.driver, environment.nvrtc_build,
               environment.measuring_protocol);
  if (!select.executeStep()) return std::nullopt;
  const DeviceRates found = {select.getColumn(0).getDouble(), select.getColumn(1).getDouble()};
  if (hash_of(device_class, environment, found) != select.getColumn(2).getString()) {
    return std::nullopt;
  }
  return found;
}

}  // namespace autotune
