// Messages on a socket: their framing, their deadlines, and errors when the other side ends.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "tuner/worker/protocol.hpp"

namespace autotune {
namespace {

constexpr std::size_t kHeaderBytes = 4;

// The other side of a socket: until when it is waited for, and the descriptor of its process or -1.
struct Peer {
  Deadline deadline;
  int process;
};

// Waits until the socket is ready. Returns false when the process at its other end has ended, and
// the socket has nothing more. Time in which this process was stopped postpones the deadline,
// because the other side may have been stopped with it (Ctrl-Z, a container that is paused).
bool wait_ready(int fd, short events, Peer& peer) {
  auto& [deadline, process] = peer;
  constexpr std::chrono::milliseconds kSlice(1000);
  while (true) {
    const Deadline start = Deadline::clock::now();
    if (start > deadline) throw MessageTimeout("no answer in time");
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - start);
    const auto wait = std::min(left + std::chrono::milliseconds(1), kSlice);
    pollfd entries[] = {{.fd = fd, .events = events, .revents = 0},
                        {.fd = process, .events = POLLIN, .revents = 0}};
    const int ready = ::poll(entries, 2, static_cast<int>(wait.count()));
    const Deadline::duration late = Deadline::clock::now() - start - wait;
    if (late > kSlice && deadline != Deadline::max()) deadline += late;
    // The last bytes may have come between the looks at the socket and at the process.
    if (ready > 0 && entries[0].revents == 0) return ::poll(entries, 1, 0) != 0;
    if (ready != 0) return true;  // after an error, the transfer reports it
  }
}

// Transfers at least one byte. Returns 0 when the other side has ended.
template <typename Transfer>
std::size_t transfer_some(int fd, short events, Peer& peer, Transfer transfer) {
  while (true) {
    if (!wait_ready(fd, events, peer)) return 0;
    const ssize_t count = transfer();
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == ECONNRESET || errno == EPIPE) return 0;
    if (errno != EINTR && errno != EAGAIN) {
      throw Error(std::string("cannot exchange a worker message: ") + std::strerror(errno));
    }
  }
}

// Returns the number of bytes that were read. It is less than `size` only at the end of the stream.
std::size_t read_up_to(int fd, char* data, std::size_t size, Peer& peer) {
  std::size_t done = 0;
  while (done < size) {
    const std::size_t count = transfer_some(
        fd, POLLIN, peer, [&] { return ::recv(fd, data + done, size - done, MSG_DONTWAIT); });
    if (count == 0) break;
    done += count;
  }
  return done;
}

}  // namespace

void write_message(int fd, const std::string& bytes, Deadline deadline, int process) {
  Peer peer{deadline, process};
  if (bytes.size() > kMaxMessageBytes) throw Error("a worker message is too long");
  std::string framed;
  for (int shift = 0; shift < 32; shift += 8) {
    framed += static_cast<char>(bytes.size() >> shift & 0xff);
  }
  framed += bytes;
  std::size_t done = 0;
  while (done < framed.size()) {
    // With MSG_NOSIGNAL a worker that has ended causes an error here instead of a SIGPIPE.
    const std::size_t count = transfer_some(fd, POLLOUT, peer, [&] {
      return ::send(fd, framed.data() + done, framed.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    if (count == 0) throw Error("the other side of a worker message is gone");
    done += count;
  }
}

bool read_message(int fd, std::string& bytes, Deadline deadline, int process) {
  Peer peer{deadline, process};
  unsigned char header[kHeaderBytes];
  const std::size_t got = read_up_to(fd, reinterpret_cast<char*>(header), kHeaderBytes, peer);
  if (got == 0) return false;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kHeaderBytes; ++i) size |= std::size_t{header[i]} << (8 * i);
  if (got == kHeaderBytes && size > kMaxMessageBytes) throw Error("a worker message is too long");
  if (got == kHeaderBytes) bytes.resize(size);
  if (got < kHeaderBytes || read_up_to(fd, bytes.data(), size, peer) < size) {
    throw Error("a worker message ended in the middle");
  }
  return true;
}

}  // namespace autotune
