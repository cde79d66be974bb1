// SPDX-License-Identifier: Apache-2.0
// A CUDA runtime library without a GPU: its device memory is of the host, and a copy is done only when the test says
// so, or when a call waits for it. One thread uses it.
#include "tests/support/cuda/fake_cudart.h"

#include <cstdlib>
#include <cstring>
#include <deque>

namespace {

struct FakeWork {  // a copy, or without `from` the end of memory after the copies before
  void* to;
  const void* from;
  std::size_t size;
};

FakeCuda state{.devices = 2};
std::deque<FakeWork> pending;

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

/// An event is the number of copies before it.
int& copies_before(void* event) { return *static_cast<int*>(event); }

}  // namespace

extern "C" {

FakeCuda* fake_cuda() { return &state; }
void fake_cuda_advance(int copies) { do_copies(copies); }

int cudaGetDeviceCount(int* count) {
  *count = state.devices;
  return state.devices > 0 ? 0 : 100;
}
int cudaGetDevice(int* device) {
  *device = state.current;
  return 0;
}
int cudaSetDevice(int device) {
  state.current = device;
  return 0;
}
const char* cudaGetErrorString(int error) { return error == 2 ? "out of memory" : "something else"; }
int cudaGetLastError() { return 0; }

int cudaStreamCreateWithFlags(void** stream, unsigned) {
  *stream = std::malloc(1);
  ++state.streams;
  return 0;
}
int cudaStreamDestroy(void* stream) {
  std::free(stream);
  --state.streams;
  return 0;
}
int cudaStreamWaitEvent(void* stream, void*, unsigned) {
  state.held_back = stream;
  return 0;
}
int cudaEventCreateWithFlags(void** event, unsigned) {
  *event = std::calloc(1, sizeof(int));
  ++state.events;
  return 0;
}
int cudaEventDestroy(void* event) {
  std::free(event);
  --state.events;
  return 0;
}
int cudaEventRecord(void* event, void*) {
  copies_before(event) = state.begun;
  return 0;
}
int cudaEventQuery(void* event) { return copies_before(event) <= state.done ? 0 : 600; }
int cudaEventSynchronize(void* event) {
  ++state.synchronized;
  do_copies(copies_before(event) - state.done);
  return 0;
}
int cudaHostAlloc(void** memory, std::size_t size, unsigned) {
  *memory = std::malloc(size);
  ++state.pinned;
  return 0;
}
int cudaFreeHost(void* memory) {
  std::free(memory);
  --state.pinned;
  return 0;
}
int cudaMallocAsync(void** memory, std::size_t size, void*) {
  *memory = std::malloc(size);
  ++state.memory;
  return 0;
}
int cudaFreeAsync(void* memory, void* stream) {
  pending.push_back({.to = memory, .from = nullptr, .size = 0});
  --state.memory;
  state.freed_after = stream;
  return 0;
}
int cudaMemcpyAsync(void* to, const void* from, std::size_t size, int, void*) {
  if (state.fails != 0) return state.fails;
  ++state.begun;
  pending.push_back({.to = to, .from = from, .size = size});
  return 0;
}

}  // extern "C"
