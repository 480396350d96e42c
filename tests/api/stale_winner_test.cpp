// Winners in the database that cannot be used any more, though their rows are sound.
#include <doctest/doctest.h>

#include "autotune/autotune.hpp"

#include "api/device_choice.hpp"
#include "db/tuning_database.hpp"
#include "kernel_templates/kernel_set.hpp"
#include "tests/api/temporary_storage.hpp"
#include "tests/support/fake_cuda.hpp"
#include "tests/support/winner.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("a stored winner") {
  TEST_CASE("that is no longer a valid configuration is passed over") {
    const TemporaryStorage storage;
    const FakeCuda cuda;
    const GemmProblem problem{.m = 64, .n = 48, .k = 32};
    const KernelTemplate& kernel = *built_in_kernels().find("gemm_tiled");
    const DeviceInfo device = choose_device("0").device;
    const Winner sound = winner_of(kernel, problem, device);

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
