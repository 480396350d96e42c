// Streams, events and graphs. All of them belong to the context that is current when they are made.
#pragma once

#include <cstdint>

#include "gpu/driver.hpp"

struct CUstream_st;
struct CUevent_st;
struct CUgraphExec_st;

namespace autotune::gpu {

class Stream {
 public:
  explicit Stream(const Driver& driver);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void synchronize() const;
  [[nodiscard]] CUstream_st* handle() const { return stream_; }
  [[nodiscard]] const Driver& driver() const { return driver_; }

 private:
  const Driver& driver_;
  CUstream_st* stream_ = nullptr;
};

class Event {
 public:
  explicit Event(const Driver& driver);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) const;
  void synchronize() const;
  // Returns microseconds. Both events must be recorded and completed. Throws Error for a time that
  // is impossible.
  [[nodiscard]] double elapsed_us_since(const Event& start) const;

 private:
  const Driver& driver_;
  CUevent_st* event_ = nullptr;
};

// Returns whether work on the stream (nullptr: the default one) is being captured into a graph.
[[nodiscard]] bool is_capturing(const Driver& driver, CUstream_st* stream);
// Returns the number of a stream in the current context, which no other stream ever has, whatever
// becomes of its handle. nullptr: the default stream.
[[nodiscard]] std::uint64_t stream_id(const Driver& driver, CUstream_st* stream);
// Returns whether the handle stands for the per-thread default stream. All threads use the same
// handle for it.
[[nodiscard]] bool is_per_thread(CUstream_st* stream);

// As long as it lives, this thread may load, allocate and free while others capture in any mode.
// Otherwise that would break their captures.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver);
  ~RelaxedCapture();
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  int before_;
};

// Work captured from a stream, launched as one.
class Graph {
 public:
  // Captures what `enqueue` puts on the stream.
  template <typename Enqueue>
  Graph(const Stream& stream, Enqueue enqueue) : driver_(stream.driver()) {
    begin(stream);
    try {
      enqueue();
    } catch (...) {
      abandon(stream);
      throw;
    }
    finish(stream);
  }
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(const Stream& stream) const;

 private:
  static void begin(const Stream& stream);
  static void abandon(const Stream& stream) noexcept;
  void finish(const Stream& stream);

  const Driver& driver_;
  CUgraphExec_st* executable_ = nullptr;
};

}  // namespace autotune::gpu
