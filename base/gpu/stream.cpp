#include "gpu/stream.hpp"

#include <fmt/format.h>

#include "autotune/error.hpp"

#include "gpu/driver_api.hpp"

namespace autotune::gpu {

Stream::Stream(const Driver& driver) : driver_(driver) {
  driver_.check(driver_.api().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
}

Stream::~Stream() {
  driver_.api().cuStreamDestroy(stream_);
}

void Stream::synchronize() const {
  driver_.check(driver_.api().cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Event::Event(const Driver& driver) : driver_(driver) {
  driver_.check(driver_.api().cuEventCreate(&event_, CU_EVENT_DEFAULT), "cuEventCreate");
}

Event::~Event() {
  driver_.api().cuEventDestroy(event_);
}

void Event::record(const Stream& stream) const {
  driver_.check(driver_.api().cuEventRecord(event_, stream.handle()), "cuEventRecord");
}

void Event::synchronize() const {
  driver_.check(driver_.api().cuEventSynchronize(event_), "cuEventSynchronize");
}

double Event::elapsed_us_since(const Event& start) const {
  float milliseconds = 0;
  driver_.check(driver_.api().cuEventElapsedTime(&milliseconds, start.event_, event_),
                "cuEventElapsedTime");
  if (!(milliseconds >= 0)) {
    throw Error(fmt::format("the GPU's clock is wrong: {} ms between two events", milliseconds));
  }
  return 1e3 * static_cast<double>(milliseconds);
}

std::uint64_t stream_id(const Driver& driver, CUstream_st* stream) {
  unsigned long long id = 0;
  driver.check(driver.api().cuStreamGetId(stream, &id), "cuStreamGetId");
  return id;
}

bool is_per_thread(CUstream_st* stream) {
  return stream == CU_STREAM_PER_THREAD;
}

bool is_capturing(const Driver& driver, CUstream_st* stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  driver.check(driver.api().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Graph::~Graph() {
  if (executable_ != nullptr) driver_.api().cuGraphExecDestroy(executable_);
}

void Graph::launch(const Stream& stream) const {
  driver_.check(driver_.api().cuGraphLaunch(executable_, stream.handle()), "cuGraphLaunch");
}

void Graph::begin(const Stream& stream) {
  const Driver& driver = stream.driver();
  driver.check(
      driver.api().cuStreamBeginCapture(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      "cuStreamBeginCapture");
}

void Graph::abandon(const Stream& stream) noexcept {
  CUgraph graph = nullptr;
  stream.driver().api().cuStreamEndCapture(stream.handle(), &graph);
  if (graph != nullptr) stream.driver().api().cuGraphDestroy(graph);
}

void Graph::finish(const Stream& stream) {
  CUgraph graph = nullptr;
  driver_.check(driver_.api().cuStreamEndCapture(stream.handle(), &graph), "cuStreamEndCapture");
  const int code = driver_.api().cuGraphInstantiateWithFlags(&executable_, graph, 0);
  driver_.api().cuGraphDestroy(graph);
  driver_.check(code, "cuGraphInstantiateWithFlags");
}

RelaxedCapture::RelaxedCapture(const Driver& driver)
    : driver_(driver), before_(CU_STREAM_CAPTURE_MODE_RELAXED) {
  auto mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver_.check(driver_.api().cuThreadExchangeStreamCaptureMode(&mode),
                "cuThreadExchangeStreamCaptureMode");
  before_ = mode;
}

RelaxedCapture::~RelaxedCapture() {
  auto mode = static_cast<CUstreamCaptureMode>(before_);
  driver_.api().cuThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace autotune::gpu
