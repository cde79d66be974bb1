// SPDX-License-Identifier: Apache-2.0
// A CUDA runtime library without a GPU: its device memory is of the host, and a copy is done only when the test says
// so, or when a call waits for it. Any number of threads use it.
#include "tests/support/cuda/fake_cudart.h"

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

namespace {

struct FakeWork {  // a copy, or without `from` the end of memory after the copies before
  void* to;
  const void* from;
  std::size_t size;
};

struct FakeEvent {
  int device;  // that was current when it was made
  int copies;  // it is complete when so many are done
};

FakeCuda state{.devices = 2};
std::recursive_mutex mutex;
std::deque<FakeWork> pending;
std::map<std::pair<int, void*>, int> last_copy;  // number of the last copy of a stream; of null by device
std::map<void*, std::size_t> locked;             // page-locked memory of the host

// Of the thread.
thread_local int current_device = 0;
thread_local int capture_mode = 0;

using Guard = std::lock_guard<std::recursive_mutex>;

void do_copies(int copies) {
  while (!pending.empty()) {
    const FakeWork next = pending.front();
    if (next.from != nullptr && copies-- <= 0) return;
    pending.pop_front();
    if (next.from == nullptr) {
      std::free(next.to);
      continue;
    }
    std::memcpy(next.to, next.from, next.size);
    ++state.done;
  }
}

std::pair<int, void*> place_of(void* stream) { return {stream == nullptr ? current_device : -1, stream}; }

/// Called by what a thread must not call while another one captures a graph, unless it says so.
void breaks_captures() { state.strict_captures += capture_mode == 2 ? 0 : 1; }

}  // namespace

extern "C" {

FakeCuda* fake_cuda() {
  const Guard guard{mutex};
  state = {.devices = 2};
  last_copy.clear();
  return &state;
}
int fake_cuda_registrations() { return state.registrations; }
long fake_cuda_registered() { return state.registered; }
void fake_cuda_advance(int copies) {
  const Guard guard{mutex};
  do_copies(copies);
}

int cudaGetDeviceCount(int* count) {
  *count = state.devices;
  return state.devices > 0 ? 0 : 100;
}
int cudaGetDevice(int* device) {
  *device = current_device;
  return 0;
}
int cudaSetDevice(int device) {
  const Guard guard{mutex};
  current_device = device;
  state.current = device;
  state.contexts |= 1 << device;
  return 0;
}
const char* cudaGetErrorString(int error) { return error == 2 ? "out of memory" : "something else"; }
int cudaGetLastError() {
  const Guard guard{mutex};
  return std::exchange(state.last_error, 0);
}
int cudaThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return 0;
}

int cudaStreamCreateWithFlags(void** stream, unsigned) {
  const Guard guard{mutex};
  *stream = std::malloc(1);
  ++state.streams;
  return 0;
}
int cudaStreamDestroy(void* stream) {
  const Guard guard{mutex};
  std::free(stream);
  --state.streams;
  return 0;
}
int cudaStreamWaitEvent(void* stream, void*, unsigned) {
  state.held_back = stream;
  return 0;
}
int cudaEventCreateWithFlags(void** event, unsigned) {
  const Guard guard{mutex};
  auto* const made = static_cast<FakeEvent*>(std::calloc(1, sizeof(FakeEvent)));
  made->device = current_device;
  *event = made;
  ++state.events;
  return 0;
}
int cudaEventDestroy(void* event) {
  const Guard guard{mutex};
  std::free(event);
  --state.events;
  return 0;
}
int cudaEventRecord(void* event, void* stream) {
  const Guard guard{mutex};
  auto* const recorded = static_cast<FakeEvent*>(event);
  if (recorded->device != current_device) return state.last_error = 400;  // an invalid handle
  recorded->copies = last_copy[place_of(stream)];
  return 0;
}
int cudaEventQuery(void* event) {
  const Guard guard{mutex};
  breaks_captures();
  if (static_cast<FakeEvent*>(event)->copies <= state.done) return 0;
  return state.last_error = 600;
}
int cudaEventSynchronize(void* event) {
  const Guard guard{mutex};
  ++state.synchronized;
  do_copies(static_cast<FakeEvent*>(event)->copies - state.done);
  return 0;
}
int cudaHostAlloc(void** memory, std::size_t size, unsigned) {
  const Guard guard{mutex};
  *memory = std::malloc(size);
  ++state.pinned;
  return 0;
}
int cudaFreeHost(void* memory) {
  const Guard guard{mutex};
  std::free(memory);
  --state.pinned;
  return 0;
}
int cudaHostRegister(void* memory, std::size_t size, unsigned) {
  const Guard guard{mutex};
  breaks_captures();
  if (locked.contains(memory)) return state.last_error = 712;  // registered already
  const long after = state.registered + static_cast<long>(size);
  if (state.max_registered > 0 && after > state.max_registered) return state.last_error = 2;
  locked[memory] = size;
  state.registered = after;
  state.contexts |= 1 << current_device;
  ++state.registrations;
  return 0;
}
int cudaHostUnregister(void* memory) {
  const Guard guard{mutex};
  const auto found = locked.find(memory);
  if (found == locked.end()) return state.last_error = 713;  // not registered
  state.registered -= static_cast<long>(found->second);
  locked.erase(found);
  return 0;
}
int cudaMallocAsync(void** memory, std::size_t size, void*) {
  const Guard guard{mutex};
  *memory = std::malloc(size);
  ++state.memory;
  return 0;
}
int cudaFreeAsync(void* memory, void* stream) {
  const Guard guard{mutex};
  pending.push_back({.to = memory, .from = nullptr, .size = 0});
  --state.memory;
  state.freed_after = stream;
  return 0;
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t size, int, void* stream) {
  const Guard guard{mutex};
  if (state.fails != 0) return state.fails;
  last_copy[place_of(stream)] = ++state.begun;
  pending.push_back({.to = to, .from = from, .size = size});
  return 0;
}

}  // extern "C"
