// A CUDA driver without a GPU: what AUTOTUNE_LIBCUDA names in tests of faults and of the program.
//
// It shows H200s with little memory. Memory is the host's, kernels do nothing and take 10 us each
// by the clock that events read. The environment variable FAKE_CUDA scripts it, with ';' between
// items:
//   NAME:CODE       the function always answers CODE
//   NAME:CODE@N     ... at its N-th call since the library was loaded
//   NAME:CODE@N+    ... from its N-th call on
//   NAME:hang@N     ... sleeps for ever (also without @N, or with @N+)
//   NAME:CODE#D     ... in processes that asked for the context of device D (also behind @N)
//   devices=2  driver=11030  memory=BYTES  name=TEXT
//   thread_ns=N     a kernel takes N ns more for each of its threads
//   elapsed=F,G,H   times between events are so many times as long, in turn (also 0, -1, nan)
//   attributeN=V    a device attribute, by its number in cuda.h; attributeN#D=V of device D alone
//   stub            every call answers 34, as the toolkit's stub does
// The script is read at each call. One thread at a time, but for a driver that stays silent:
// several threads may call that one, which has nothing in it that would order them.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "gpu/driver_api.hpp"

// The functions of the driver have their own names here, in a namespace.
namespace autotune::fake {
namespace {

constexpr double kLaunchMs = 0.01;

// The script's items that begin so, without their beginning.
std::vector<std::string_view> items(std::string_view beginning) {
  const char* variable = std::getenv("FAKE_CUDA");
  std::string_view script = variable != nullptr ? variable : "";
  std::vector<std::string_view> found;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find(';'), script.size());
    const std::string_view item = script.substr(0, end);
    if (item.substr(0, beginning.size()) == beginning) {
      found.push_back(item.substr(beginning.size()));
    }
    script.remove_prefix(std::min(end + 1, script.size()));
  }
  return found;
}

long number(std::string_view text) {
  long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

long setting(std::string_view name, long otherwise) {
  const std::vector<std::string_view> found = items(std::string(name) + "=");
  return found.empty() ? otherwise : number(found.front());
}

std::size_t memory_bytes() {
  return static_cast<std::size_t>(setting("memory", 1L << 30));
}

// The device whose context was asked for last.
CUdevice device_in_use = -1;

// The script's answer to the `call`-th call of a function.
std::optional<CUresult> scripted_answer(const std::string& function, long call) {
  if (!items("stub").empty()) return CUDA_ERROR_STUB_LIBRARY;
  for (std::string_view item : items(function + ":")) {
    if (const std::size_t device = item.find('#'); device != std::string_view::npos) {
      if (number(item.substr(device + 1)) != device_in_use) continue;
      item = item.substr(0, device);
    }
    const std::size_t at = item.find('@');
    if (at != std::string_view::npos) {
      const bool from_then_on = item.back() == '+';
      const long first = number(item.substr(at + 1));
      if (from_then_on ? call < first : call != first) continue;
    }
    while (item.substr(0, 4) == "hang") ::pause();
    return static_cast<CUresult>(number(item));
  }
  return std::nullopt;
}

struct Stream {
  bool capturing = false;
  double captured_ms = 0;
};

// The contexts that are current in a thread, the last one on top.
class ContextStack {
 public:
  void push(CUcontext context) {
    contexts_[depth_++] = context;
    of_all_threads.fetch_add(1, std::memory_order_relaxed);
  }
  // nullptr when there is none.
  CUcontext pop() {
    const CUcontext context = top();
    if (context == nullptr) return nullptr;
    --depth_;
    of_all_threads.fetch_sub(1, std::memory_order_relaxed);
    return context;
  }
  [[nodiscard]] CUcontext top() const { return depth_ == 0 ? nullptr : contexts_[depth_ - 1]; }

  static constinit inline std::atomic<int> of_all_threads = 0;

 private:
  CUcontext contexts_[16] = {};
  std::size_t depth_ = 0;
};

thread_local constinit ContextStack current_contexts;
thread_local constinit double clock_ms = 0;
std::string call_log;
int prepared_launches = 0;
bool silent = false;  // neither logs nor reads the script, nor allocates for a launch
std::string calls_taken;
std::string last_image;

// Handles are addresses of these, or of objects of their own.
char module;
struct Function {
  std::atomic<int> dynamic_shared = 48 << 10;  // bytes that a launch may ask for
};

// Each device has the primary context, then those that an application makes.
constexpr int kContextsPerDevice = 4;
char contexts[8 * kContextsPerDevice];

CUcontext context_of(CUdevice device, int number) {
  return reinterpret_cast<CUcontext>(&contexts[kContextsPerDevice * device + number]);
}
// The inverse: counts all contexts of all devices.
int number_of(CUcontext handle) {
  return static_cast<int>(reinterpret_cast<char*>(handle) - contexts);
}

// nullptr for the default streams.
Stream* stream_of(CUstream handle) {
  return handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD
             ? nullptr
             : reinterpret_cast<Stream*>(handle);
}

void launch(CUstream handle, double ms) {
  Stream* const stream = stream_of(handle);
  if (stream != nullptr && stream->capturing) {
    stream->captured_ms += ms;
  } else {
    clock_ms += ms;
  }
}

// The script's factor for the `call`-th time between events.
float elapsed_factor(std::size_t call) {
  const std::vector<std::string_view> found = items("elapsed=");
  if (found.empty()) return 1;
  std::istringstream list{std::string(found.front())};
  std::vector<float> factors;
  for (std::string factor; std::getline(list, factor, ',');) factors.push_back(std::stof(factor));
  return factors[call % factors.size()];
}

void* host_pointer(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

template <typename Handle, typename Object>
CUresult give(Handle* handle, Object* object) {
  *handle = reinterpret_cast<Handle>(object);
  return CUDA_SUCCESS;
}

// Errors, devices

CUresult cuInit(unsigned) {
  return setting("devices", 1) > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int* version) {
  *version = static_cast<int>(setting("driver", 13000));
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult, const char** name) {
  return give(name, "CUDA_ERROR_FAKE");
}
CUresult cuGetErrorString(CUresult, const char** text) {
  return give(text, "as scripted");
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal < setting("devices", 1) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetCount(int* count) {
  *count = static_cast<int>(setting("devices", 1));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  const std::vector<std::string_view> scripted = items("name=");
  const std::string text(scripted.empty() ? "NVIDIA H200" : scripted.front());
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}

// Bytes 0, 1, 2, ..., the last with the ordinal added.
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  for (std::size_t i = 0; i < sizeof uuid->bytes; ++i) uuid->bytes[i] = static_cast<char>(i);
  uuid->bytes[15] = static_cast<char>(15 + device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = memory_bytes();
  return CUDA_SUCCESS;
}

int attribute_of_h200(CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return 0;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
      return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR:
      return 65536;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return 233472;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return 49152;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return 232448;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return 62914560;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 3201000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 6144;
    default:
      return 0;
  }
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  const std::string name = "attribute" + std::to_string(static_cast<int>(which));
  const long of_all = setting(name, attribute_of_h200(which));
  *value = static_cast<int>(setting(name + "#" + std::to_string(device), of_all));
  return CUDA_SUCCESS;
}

// Contexts

CUresult cuDevicePrimaryCtxRetain(CUcontext* handle, CUdevice device) {
  *handle = context_of(device, 0);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) {
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* handle) {
  *handle = current_contexts.top();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  if (current_contexts.top() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *device = number_of(current_contexts.top()) / kContextsPerDevice;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long* id) {
  const CUcontext asked = handle == nullptr ? current_contexts.top() : handle;
  if (asked == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  *id = static_cast<unsigned long long>(number_of(asked)) + 1;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(CUcontext handle) {
  current_contexts.push(handle);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(CUcontext* handle) {
  *handle = current_contexts.pop();
  return *handle == nullptr ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

// Memory

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  if (bytes > memory_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(std::calloc(bytes, 1));
  return CUDA_SUCCESS;
}

CUresult cuMemFree(CUdeviceptr address) {
  std::free(host_pointer(address));
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  *free_bytes = *total_bytes = memory_bytes();
  return CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  return give(data, std::calloc(bytes, 1));
}

CUresult cuMemFreeHost(void* data) {
  std::free(data);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  std::memcpy(host_pointer(to), from, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(to, host_pointer(from), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t words, CUstream) {
  std::fill_n(static_cast<unsigned*>(host_pointer(address)), words, value);
  return CUDA_SUCCESS;
}

CUresult cuMemsetD2D32Async(CUdeviceptr address, std::size_t pitch, unsigned value,
                            std::size_t columns, std::size_t rows, CUstream) {
  for (std::size_t row = 0; row < rows; ++row) {
    std::fill_n(static_cast<unsigned*>(host_pointer(address + row * pitch)), columns, value);
  }
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(host_pointer(to), host_pointer(from), bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D* copy, CUstream) {
  for (std::size_t row = 0; row < copy->Height; ++row) {
    std::memcpy(host_pointer(copy->dstDevice + row * copy->dstPitch),
                host_pointer(copy->srcDevice + row * copy->srcPitch), copy->WidthInBytes);
  }
  return CUDA_SUCCESS;
}

// Streams and graphs: a graph is the time of the launches that it captured.

CUresult cuStreamCreate(CUstream* handle, unsigned) {
  return give(handle, new Stream);
}

CUresult cuStreamDestroy(CUstream handle) {
  delete reinterpret_cast<Stream*>(handle);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream) {
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  const Stream* const stream = stream_of(handle);
  if (stream != nullptr && stream->capturing) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  *id = reinterpret_cast<unsigned long long>(handle);
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  const Stream* const stream = stream_of(handle);
  const bool capturing = stream != nullptr && stream->capturing;
  *status = capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode) {
  *reinterpret_cast<Stream*>(handle) = {.capturing = true};
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  thread_local CUstreamCaptureMode own = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(own, *mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  auto* stream = reinterpret_cast<Stream*>(handle);
  stream->capturing = false;
  return give(graph, new double(stream->captured_ms));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return give(executable, new double(*reinterpret_cast<double*>(graph)));
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  launch(stream, *reinterpret_cast<double*>(executable));
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete reinterpret_cast<double*>(executable);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<double*>(graph);
  return CUDA_SUCCESS;
}

// Events: the time when they were recorded.

CUresult cuEventCreate(CUevent* event, unsigned) {
  return give(event, new double(0));
}

CUresult cuEventDestroy(CUevent event) {
  delete reinterpret_cast<double*>(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream) {
  *reinterpret_cast<double*>(event) = clock_ms;
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent) {
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  static std::size_t calls = 0;
  const double ms = *reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(start);
  *milliseconds = static_cast<float>(ms) * elapsed_factor(calls++);
  return CUDA_SUCCESS;
}

// Kernels

CUresult cuModuleLoadData(CUmodule* handle, const void* image) {
  if (!silent) last_image = static_cast<const char*>(image);
  return give(handle, &module);
}
CUresult cuModuleUnload(CUmodule) {
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* handle, CUmodule, const char*) {
  static std::array<Function, 1 << 16> functions;  // more than any program here loads
  static std::atomic<std::size_t> loaded = 0;
  return give(handle, &functions.at(loaded++));
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  *value = which == CU_FUNC_ATTRIBUTE_BINARY_VERSION ? static_cast<int>(setting("binary", 90))
           : which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
               ? reinterpret_cast<Function*>(function)->dynamic_shared.load()
               : 32;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute which, int value) {
  if (which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    reinterpret_cast<Function*>(function)->dynamic_shared = value;
  }
  return CUDA_SUCCESS;
}

CUresult cuTensorMapEncodeTiled(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*,
                                const cuuint64_t*, const cuuint64_t*, const cuuint32_t*,
                                const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
                                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  const CUlaunchConfig& c = *config;
  const int allowed = reinterpret_cast<Function*>(function)->dynamic_shared;
  if (static_cast<int>(c.sharedMemBytes) > allowed) return CUDA_ERROR_INVALID_VALUE;
  if (silent) {
    launch(c.hStream, kLaunchMs);
    return CUDA_SUCCESS;
  }
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = c.attrs[i];
    prepared_launches += attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
                         attribute.value.programmaticStreamSerializationAllowed == 1;
  }
  const double threads =
      1.0 * c.gridDimX * c.gridDimY * c.gridDimZ * c.blockDimX * c.blockDimY * c.blockDimZ;
  launch(c.hStream, kLaunchMs + 1e-6 * threads * static_cast<double>(setting("thread_ns", 0)));
  return CUDA_SUCCESS;
}

// A function's name as a template argument.
template <std::size_t size>
struct Name {
  constexpr Name(const char (&from)[size]) { std::copy_n(from, size, text); }
  char text[size];
};

// A function above, behind the script.
template <Name name, auto behind>
struct Scripted;
template <Name name, typename... Arguments, CUresult (*behind)(Arguments...)>
struct Scripted<name, behind> {
  static CUresult call(Arguments... arguments) {
    static long calls = 0;
    if (silent) return behind(arguments...);
    if constexpr (std::string_view(name.text) == "cuDevicePrimaryCtxRetain") {
      device_in_use = std::get<1>(std::tuple(arguments...));
    }
    call_log.append(call_log.empty() ? "" : " ").append(name.text);
    const std::optional<CUresult> answer = scripted_answer(name.text, ++calls);
    if (!answer) return behind(arguments...);
    // A freed object is gone, whatever the answer.
    const std::string_view own_name = name.text;
    for (const char* word : {"Free", "Destroy", "Unload"}) {
      if (own_name.find(word) != own_name.npos) behind(arguments...);
    }
    return *answer;
  }
};

// Every function that the module asks for, with the signature that it expects.
void* address_of(std::string_view wanted) {
#define AUTOTUNE_FAKE(name, version, type)                    \
  if (wanted == #name) {                                      \
    const type address = &Scripted<#name, &fake::name>::call; \
    return reinterpret_cast<void*>(address);                  \
  }
  AUTOTUNE_DRIVER_FUNCTIONS(AUTOTUNE_FAKE)
#undef AUTOTUNE_FAKE
  return nullptr;
}

}  // namespace
}  // namespace autotune::fake

// The functions that a driver exports by name.
extern "C" {

__attribute__((visibility("default"))) CUresult cuDriverGetVersion(int* version) {
  return autotune::fake::Scripted<"cuDriverGetVersion", &autotune::fake::cuDriverGetVersion>::call(
      version);
}

__attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(
    const char* name, void** address, int, cuuint64_t, CUdriverProcAddressQueryResult*) {
  *address = autotune::fake::address_of(name);
  return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// For tests: how many contexts are on the threads' stacks of current ones.
__attribute__((visibility("default"))) int fake_cuda_context_depth() {
  return autotune::fake::ContextStack::of_all_threads;
}

// For tests, in the place of an application: makes a context of a device current, 0 for its primary
// one; nothing is current once each was popped.
__attribute__((visibility("default"))) void fake_cuda_push_context(int device, int number) {
  autotune::fake::current_contexts.push(autotune::fake::context_of(device, number));
}
__attribute__((visibility("default"))) void fake_cuda_pop_context() {
  autotune::fake::current_contexts.pop();
}

// For tests that count what callers do: the driver does the least itself.
__attribute__((visibility("default"))) void fake_cuda_stay_silent(bool silent) {
  autotune::fake::silent = silent;
}

// For tests: a stream that is being captured, or is not.
__attribute__((visibility("default"))) CUstream fake_cuda_stream(bool capturing) {
  static autotune::fake::Stream streams[64];
  static std::size_t made = 0;
  autotune::fake::Stream& stream = streams[made++ % std::size(streams)];
  stream.capturing = capturing;
  return reinterpret_cast<CUstream>(&stream);
}

__attribute__((visibility("default"))) void fake_cuda_capture(CUstream stream, bool capturing) {
  autotune::fake::stream_of(stream)->capturing = capturing;
}

// For libraries: a kernel that takes so long.
__attribute__((visibility("default"))) void fake_cuda_launch_us(CUstream stream, double us) {
  autotune::fake::launch(stream, 1e-3 * us);
}

// For tests: launches so far that may be prepared while the one before them ends.
__attribute__((visibility("default"))) int fake_cuda_prepared_launches() {
  return autotune::fake::prepared_launches;
}

// For tests: the PTX of the module that was loaded last.
__attribute__((visibility("default"))) const char* fake_cuda_last_image() {
  return autotune::fake::last_image.c_str();
}

// For tests: the driver's functions called since the last time, with a blank between them.
__attribute__((visibility("default"))) const char* fake_cuda_take_calls() {
  autotune::fake::calls_taken = std::exchange(autotune::fake::call_log, "");
  return autotune::fake::calls_taken.c_str();
}
}
