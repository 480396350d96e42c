// Winners in the database that cannot be used any more, though their rows are sound.
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "api/device_choice.hpp"
#include "core/hash.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_registry.hpp"
#include "tests/app/api/temporary_storage.hpp"
#include "tests/support/fake_cuda.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("a stored winner") {
  TEST_CASE("that is no longer a valid configuration is passed over") {
    const TemporaryStorage storage;
    const FakeCuda cuda;
    const GemmProblem problem{.m = 64, .n = 48, .k = 32};
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
    const DeviceInfo device = choose_device("0").device;
    Winner sound;
    sound.device_class = device.device_class();
    sound.device_label = device.label;
    sound.problem = problem;
    sound.template_name = kernel.name;
    sound.space_version = kernel.space_version;
    sound.source_hash = content_hash(kernel.source);
    sound.environment = {device.driver_text(), "13.0.88 CL-1", "", 1};
    sound.configuration = kernel.default_configuration(problem);
    sound.median_us = sound.low_us = sound.high_us = 5;
    sound.confirmed = true;
    sound.measured_at = "2026-11-21T05:40:44Z";

    Winner of_odd_value = sound;
    of_odd_value.configuration.set("TILE_WIDTH", 7);
    Winner lacks_values = sound;
    lacks_values.configuration = Configuration({{"TILE_WIDTH", 16}});
    Winner of_older_interface = sound;
    of_older_interface.space_version -= 1;
    Winner of_lost_template = sound;
    of_lost_template.template_name = "gemm_lost";

    const Library library;
    TuningDatabase database = TuningDatabase::open(storage.database());
    for (const Winner& stale : {of_odd_value, lacks_values, of_older_interface, of_lost_template}) {
      CAPTURE(to_string(stale.configuration));
      database.put_winners({&stale, 1});
      CHECK(library.query(problem).match == MatchKind::predicted);
    }
    database.put_winners({&sound, 1});
    CHECK(library.query(problem).match == MatchKind::exact);
    CHECK(library.query(problem).median_us == 5);
  }
}

}  // namespace
}  // namespace autotune::test
