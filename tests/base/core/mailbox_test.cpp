// Mailbox: the order of messages, and waiting for them.
#include "core/mailbox.hpp"

#include <memory>
#include <thread>

#include <doctest/doctest.h>

namespace autotune {
namespace {

using Clock = std::chrono::steady_clock;

TEST_SUITE("Mailbox") {
  TEST_CASE("messages come out in the order in which they were posted") {
    Mailbox<std::unique_ptr<int>> mailbox;
    for (int i = 0; i < 3; ++i) mailbox.post(std::make_unique<int>(i));
    for (int i = 0; i < 3; ++i) CHECK(*mailbox.wait() == i);
    CHECK_FALSE(mailbox.wait_until({}).has_value());
  }

  TEST_CASE("a wait ends at its deadline or with the first message") {
    Mailbox<int> mailbox;
    CHECK_FALSE(mailbox.wait_until(Clock::now() + std::chrono::milliseconds(1)).has_value());
    const std::jthread other([&] { mailbox.post(7); });
    CHECK(mailbox.wait_until(Clock::now() + std::chrono::seconds(60)) == 7);
  }
}

}  // namespace
}  // namespace autotune
