// KernelBuilder and the compile pool behind it, with scripted workers.
#include "tuner/compile/kernel_builder.hpp"

#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "core/mailbox.hpp"
#include "tests/tuner/tune_fixture.hpp"

namespace autotune::test {
namespace {

TEST_SUITE("KernelBuilder") {
  TEST_CASE("kernels whose compilation has not begun are forgotten, and built when asked again") {
    const KernelTemplate kernel = fake_template();
    const auto script = std::make_shared<Script>();
    std::atomic<bool> goes_on = false;
    script->compile = [&](const CompileRequest& request) {
      while (!goes_on) std::this_thread::yield();
      return ScriptedWorker::compiled(request);
    };
    Mailbox<KernelBuilt> built;
    CompilePool pool([&] { return std::make_unique<ScriptedWorker>(script); }, 1,
                     std::chrono::seconds(30),
                     [&](KernelBuilt one) { built.post(std::move(one)); });
    KernelBuilder builder(pool, nullptr, "1.2.3", "sm_90");
    const auto request = [&](std::int64_t x) {
      return builder.request(kernel, Configuration({{"X", x}, {"A", 1}}), kSmall);
    };
    const auto begun = request(1);
    const auto dropped = request(2);
    request(3);
    while (script->compiles == 0) std::this_thread::yield();
    builder.drop_queued();
    CHECK(request(1) == begun);
    const auto again = request(2);
    CHECK(again != dropped);
    goes_on = true;
    for (int i = 0; i < 2; ++i) builder.take(built.wait());
    CHECK(builder.find(begun) != nullptr);
    CHECK(builder.find(again) != nullptr);
    CHECK(script->compiles == 2);
  }
}

}  // namespace
}  // namespace autotune::test
