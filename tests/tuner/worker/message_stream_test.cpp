// Messages on a socket.
#include <array>
#include <atomic>
#include <thread>

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/posix/file_descriptor.hpp"
#include "tuner/worker/protocol.hpp"

namespace {

// While it waits next, this process is stopped for so long.
std::atomic<long> stopped_s = 0;
std::atomic<long> time_passed_s = 0;

}  // namespace

// They stand in for the C library's.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  time->tv_sec += time_passed_s;
  return static_cast<int>(result);
}
extern "C" int poll(pollfd* entries, nfds_t count, int timeout_ms) {
  time_passed_s += stopped_s.exchange(0);
  return static_cast<int>(::syscall(SYS_poll, entries, count, timeout_ms));
}

namespace autotune {
namespace {

struct SocketPair {
  SocketPair() {
    std::array<int, 2> fds{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
    near = FileDescriptor(fds[0]);
    far = FileDescriptor(fds[1]);
  }
  void send_raw(const std::string& bytes) const {
    REQUIRE(::send(near.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  void close_near() { near = FileDescriptor(); }

  FileDescriptor near;
  FileDescriptor far;
};

Deadline soon() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
}

TEST_SUITE("MessageStream") {
  TEST_CASE("messages arrive whole and in order") {
    const SocketPair pair;
    for (const std::string& message : {std::string(), std::string("one"), std::string(300, '\0')}) {
      write_message(pair.near.get(), message);
      std::string received = "left over";
      REQUIRE(read_message(pair.far.get(), received));
      CHECK(received == message);
    }
  }

  TEST_CASE("the length is four bytes with the lowest first") {
    const SocketPair pair;
    write_message(pair.near.get(), std::string(0x102, 'x'));
    std::array<unsigned char, 4> header{};
    REQUIRE(::recv(pair.far.get(), header.data(), header.size(), 0) == 4);
    CHECK(header == std::array<unsigned char, 4>{2, 1, 0, 0});
  }

  TEST_CASE("a message larger than the socket buffer goes through") {
    const SocketPair pair;
    const std::string message(8 << 20, 'm');
    std::thread writer([&] { write_message(pair.near.get(), message); });
    std::string received;
    CHECK(read_message(pair.far.get(), received));
    writer.join();
    CHECK(received == message);
  }

  TEST_CASE("the end of the stream between messages is not an error") {
    SocketPair pair;
    write_message(pair.near.get(), "last");
    pair.close_near();
    std::string received;
    CHECK(read_message(pair.far.get(), received));
    CHECK_FALSE(read_message(pair.far.get(), received));
  }

  TEST_CASE("time in which this process was stopped does not count") {
    const SocketPair pair;
    std::string received;
    for (const bool is_there : {true, false}) {
      const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      if (is_there) write_message(pair.near.get(), "late");
      stopped_s = 3600;
      const std::jthread writer([&] {
        while (stopped_s != 0) std::this_thread::yield();
        if (!is_there) write_message(pair.near.get(), "late");
      });
      CHECK(read_message(pair.far.get(), received, deadline));
      CHECK(received == "late");
    }
    CHECK_THROWS_AS(static_cast<void>(read_message(pair.far.get(), received, soon())),
                    MessageTimeout);
  }

  TEST_CASE("a torn message is an error") {
    const std::string whole("\x04\0\0\0abcd", 8);
    for (std::size_t length = 1; length < whole.size(); ++length) {
      CAPTURE(length);
      SocketPair pair;
      pair.send_raw(whole.substr(0, length));
      pair.close_near();
      std::string received;
      CHECK_THROWS_AS(static_cast<void>(read_message(pair.far.get(), received)), Error);
    }
  }

  TEST_CASE("a message that claims to be huge is refused before memory is taken") {
    const SocketPair pair;
    pair.send_raw("\xff\xff\xff\xff");
    std::string received;
    CHECK_THROWS_AS(static_cast<void>(read_message(pair.far.get(), received)), Error);
    CHECK(received.capacity() < 1000);
  }

  TEST_CASE("writing to a side that is gone is an error and no signal") {
    SocketPair pair;
    pair.close_near();
    CHECK_THROWS_WITH_AS(write_message(pair.far.get(), "hello"),
                         "the other side of a worker message is gone", Error);
  }

  TEST_CASE("a side that went away without reading is the end of the stream") {
    SocketPair pair;
    write_message(pair.far.get(), "unread");
    pair.close_near();
    std::string received;
    CHECK_FALSE(read_message(pair.far.get(), received));
  }

  TEST_CASE("reading ends at its deadline with or without the start of a message") {
    const SocketPair pair;
    std::string received;
    CHECK_THROWS_AS(static_cast<void>(read_message(pair.far.get(), received, soon())),
                    MessageTimeout);
    pair.send_raw(std::string("\x04\0\0\0ab", 6));
    CHECK_THROWS_AS(static_cast<void>(read_message(pair.far.get(), received, soon())),
                    MessageTimeout);
  }

  TEST_CASE("writing ends at its deadline when nobody reads") {
    const SocketPair pair;
    CHECK_THROWS_AS(write_message(pair.near.get(), std::string(8 << 20, 'm'), soon()),
                    MessageTimeout);
  }
}

}  // namespace
}  // namespace autotune
