#include "core/json.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "autotune/error.hpp"

using nlohmann::json;

namespace {

autotune::Winner winner() {
  autotune::Winner w;
  w.device_class = "sm_90/132sm";
  w.device_label = "NVIDIA H200";
  w.problem = autotune::Problem("gemm", {{"m", 64}, {"n", 32}}, {{"layout", "NT"}});
  w.template_name = "gemm_tiled";
  w.space_version = 2;
  w.source_hash = "abc";
  w.environment = {"580.159.04", "13.0.88", "0.1.0", 3};
  w.configuration = autotune::Configuration({{"A", 1}, {"B", 9007199254740993}});
  w.median_us = 12.5;
  w.low_us = 12.25;
  w.high_us = 12.75;
  w.confirmed = true;
  w.ties = {autotune::Configuration({{"A", 2}, {"B", 3}})};
  w.verification = {true, 0.5, 7.0, 1e-7};
  w.resources = {96, 0, 8, 4096, 12345, 61.5};
  w.rates = autotune::DeviceRates{65000.5, 3950.25};
  w.note = "12 of 10,000 blocks";
  w.measured_at = "2026-11-21T05:40:44Z";
  return w;
}

}  // namespace

TEST_SUITE("JSON") {
  TEST_CASE("a winner survives text") {
    const json before = winner();
    const auto read = json::parse(before.dump()).get<autotune::Winner>();
    CHECK(json(read) == before);
    CHECK(read.problem == winner().problem);
    CHECK(read.environment == winner().environment);
    CHECK(read.verification == winner().verification);
    CHECK(read.resources == winner().resources);
    REQUIRE(read.rates);
    CHECK(read.rates->copy_gbps == 3950.25);
    CHECK(read.note == winner().note);
    CHECK(read.configuration.at("B") == 9007199254740993);
  }

  TEST_CASE("a measurement survives CBOR") {
    autotune::Measurement before;
    before.samples_us = {1.0 / 3, 2.5};
    before.median_us = 1.4;
    before.spread_us = 0.1;
    before.launches_per_sample = 7;
    before.screened_out = true;
    before.sm_clock_mhz = 1980;
    before.throttle_reasons = 0xffffffffffffffffU;
    CHECK(json::from_cbor(json::to_cbor(json(before))).get<autotune::Measurement>() == before);
  }

  TEST_CASE("a launch geometry survives") {
    const autotune::LaunchGeometry before{.grid = {2147483647, 2, 1},
                                          .block = {16, 16, 1},
                                          .dynamic_shared_bytes = 1024,
                                          .workspace_bytes_per_block = 4096,
                                          .workspace_bytes_shared = 1234,
                                          .preparation = {16, 512, 2048},
                                          .resident_blocks_per_sm = 3,
                                          .blocks_per_cluster = 2,
                                          .raster = 8,
                                          .waits_for_launch_before = true,
                                          .tensor_boxes = {{{32, 64}, {16, 256}}}};
    CHECK(json(before).get<autotune::LaunchGeometry>() == before);
  }

  TEST_CASE("no problem comes back as none") {
    const autotune::Problem none;
    CHECK(json(none).get<autotune::Problem>() == none);
    CHECK(json::parse(R"({"m":1})").get<autotune::Problem>() == none);
  }

  TEST_CASE("absent keys keep their defaults and unknown ones are ignored") {
    const auto rates = json::parse(R"({"fma_gflops":1,"copy_gbps":2,"colour":4})");
    CHECK(rates.get<autotune::DeviceRates>().copy_gbps == 2);
    CHECK(json::parse("{}").get<autotune::Resources>() == autotune::Resources());
  }

  TEST_CASE("what a value cannot do without is asked for") {
    CHECK_THROWS_AS(json::parse(R"({"fma_gflops":1})").get<autotune::DeviceRates>(),
                    json::exception);
    CHECK_THROWS_AS(json::parse(R"("gemm m")").get<autotune::Problem>(), autotune::Error);
    CHECK_THROWS_AS(json::parse(R"({"A":"x"})").get<autotune::Configuration>(), json::exception);
  }

  TEST_CASE("a number that its member cannot hold is refused") {
    for (const char* number :
         {"1.5", "1e30", "-1e300", "9223372036854775808", "18446744073709551616"}) {
      CAPTURE(number);
      const json object = json::parse(std::string("{\"A\":") + number + "}");
      CHECK_THROWS_AS(static_cast<void>(object.get<autotune::Configuration>()), autotune::Error);
    }
    CHECK_THROWS_AS(json::parse(R"({"registers":4294967296})").get<autotune::Resources>(),
                    autotune::Error);
    CHECK_THROWS_AS(json::parse(R"({"throttle_reasons":-1})").get<autotune::Measurement>(),
                    autotune::Error);
  }
}
