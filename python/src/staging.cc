// SPDX-License-Identifier: Apache-2.0
#include "staging.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <forebay/staging.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "batches.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

/// Keeps a Python object until the last owner drops it, on any thread.
std::shared_ptr<void> kept(nb::object object) {
  return {object.release().ptr(), [](void* held) {
            if (Py_IsInitialized() == 0) return;
            const nb::gil_scoped_acquire locked;
            Py_DECREF(static_cast<PyObject*>(held));
          }};
}

std::shared_ptr<Staging> make_staging(std::int64_t gpu, const std::string& library) {
  if (gpu < 0) return cpu_staging();
  return value_of([&] {
    const Unlocked loading;
    return cuda_staging({.device = gpu, .library = library});
  }());
}

std::shared_ptr<StagedTensors> begin(Staging& staging, const nb::list& arrays) {
  std::vector<Tensor> host;
  for (const nb::handle array : arrays) {
    nb::object owner;
    host.push_back(to_tensor(array, "staging", owner));
    host.back().owner = kept(std::move(owner));
  }
  auto staged = [&] {
    const Unlocked copying;
    return staging.begin(host);
  }();
  return value_of(std::move(staged));
}

nb::dlpack::dtype dlpack_type(DType dtype) {
  const auto code = [&] {
    switch (dtype) {
      case DType::boolean:
        return nb::dlpack::dtype_code::Bool;
      case DType::int8:
      case DType::int16:
      case DType::int32:
      case DType::int64:
        return nb::dlpack::dtype_code::Int;
      case DType::bfloat16:
        return nb::dlpack::dtype_code::Bfloat;
      case DType::float16:
      case DType::float32:
      case DType::float64:
        return nb::dlpack::dtype_code::Float;
      case DType::complex64:
      case DType::complex128:
        return nb::dlpack::dtype_code::Complex;
      default:
        return nb::dlpack::dtype_code::UInt;
    }
  }();
  return {.code = static_cast<std::uint8_t>(code), .bits = static_cast<std::uint8_t>(8 * size_of(dtype)), .lanes = 1};
}

/// The tensors as objects with `__dlpack__`. `gpu`: its number; -1 on the host.
nb::list tensors_of(const StagedTensors& staged, std::int64_t gpu) {
  nb::list out;
  for (const Tensor& tensor : staged.tensors) {
    std::vector<std::size_t> sizes;
    for (const std::int64_t size : tensor.shape.dims()) sizes.push_back(static_cast<std::size_t>(size));
    auto owner = std::make_unique<std::shared_ptr<void>>(tensor.owner);
    nb::capsule base{owner.get(), [](void* held) noexcept {
                       std::default_delete<std::shared_ptr<void>>{}(static_cast<std::shared_ptr<void>*>(held));
                     }};
    static_cast<void>(owner.release());
    out.append(nb::ndarray<nb::array_api>(
                   tensor.data, sizes.size(), sizes.data(), base, nullptr, dlpack_type(tensor.dtype),
                   gpu < 0 ? nb::device::cpu::value : nb::device::cuda::value, gpu < 0 ? 0 : static_cast<int>(gpu))
                   .cast());
  }
  return out;
}

PyPinned pinned_memory(std::int64_t gpu, const std::string& library) {
  auto made = [&] {
    const Unlocked loading;
    return cuda_pinned_memory({.device = gpu, .library = library});
  }();
  return {value_of(std::move(made))};
}

void record(const PyBatch& batch, std::int64_t gpu, std::uintptr_t stream) {
  auto* const device_stream = reinterpret_cast<void*>(stream);
  const Batch* const own = batch.own();
  if (own != nullptr) value_of(record_stream(*own, gpu, device_stream));
  for (const Tensor& tensor : batch.memory()) value_of(record_stream(tensor, gpu, device_stream));
}

ReceivedBytes received(ReceivedMemory& memory, nb::handle data) {
  Py_buffer view{};
  if (PyObject_GetBuffer(data.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  auto copied = [&] {
    const Unlocked copying;
    return memory.copy({static_cast<const std::byte*>(view.buf), static_cast<std::size_t>(view.len)});
  }();
  PyBuffer_Release(&view);
  return value_of(std::move(copied));
}

}  // namespace

void bind_staging(nb::module_& module) {
  nb::class_<StagedTensors>(module, "StagedTensors", "Tensors on their way to a device.")
      .def("tensors", &tensors_of, nb::arg("gpu"), nb::sig("def tensors(self, gpu: int) -> list[typing.Any]"),
           "Objects with __dlpack__; gpu: the number of the GPU, -1 on the host.")
      .def(
          "wait",
          [](StagedTensors& staged, std::uintptr_t stream) { value_of(staged.wait(reinterpret_cast<void*>(stream))); },
          nb::arg("stream"), "Work that is put into the stream from now on begins after the copies.")
      .def_prop_ro(
          "ready", [](const StagedTensors& staged) { return value_of(staged.ready()); }, "The copies are complete.");
  nb::class_<Staging>(module, "Staging", "Brings tensors to a device.")
      .def("begin", &begin, nb::arg("arrays"), nb::sig("def begin(self, arrays: list[typing.Any]) -> StagedTensors"),
           "Begins to copy arrays of numbers.")
      .def_prop_ro("device", &Staging::device);
  nb::class_<PyPinned>(module, "PinnedMemory", "Page-locked memory for the batches of runs.");
  module.def("cuda_pinned_memory", &pinned_memory, nb::arg("gpu"), nb::arg("library"),
             "gpu: its number; -1: the current one of this thread. library: the CUDA runtime; empty: the usual one.");
  nb::class_<ReceivedBytes>(module, "ReceivedBytes", "Bytes in memory of ReceivedMemory.")
      .def_prop_ro(
          "array", [](const ReceivedBytes& self) { return to_array(self.tensor); },
          nb::sig("def array(self) -> typing.Any"), "uint8 [size], over that memory.")
      .def_prop_ro(
          "checksum", [](const ReceivedBytes& self) { return self.checksum; }, "CRC-32C.");
  nb::class_<ReceivedMemory>(module, "ReceivedMemory", "Memory for batches of other processes, which is used again.")
      .def(
          "__init__",
          [](ReceivedMemory* self, std::int64_t keep, const PyPinned* pinned) {
            new (self) ReceivedMemory{keep, pinned == nullptr ? nullptr : pinned->memory};
          },
          nb::arg("keep"), nb::arg("pinned").none())
      .def("copy", &received, nb::arg("data"),
           nb::sig("def copy(self, data: bytes | memoryview | typing.Any) -> ReceivedBytes"),
           "A copy of the bytes of an object with a contiguous buffer.")
      .def_prop_ro("pinned", &ReceivedMemory::pinned, "Bytes that are page-locked now.");
  module.def(
      "own_memory", [](PyBatch& batch, const std::vector<const ReceivedBytes*>& parts) { batch.own_memory(parts); },
      nb::arg("batch"), nb::arg("parts"),
      "Arrays of a batch that was pickled lie in these parts: record_stream of the batch is theirs, too.");
  module.def("record_stream", &record, nb::arg("batch"), nb::arg("gpu"), nb::arg("stream"),
             "The memory of the batch is not used again before the work that was put into the stream so far is done.");
  module.def("make_staging", &make_staging, nb::arg("gpu"), nb::arg("library"),
             "gpu: its number; -1: the host. library: the CUDA runtime; empty: the usual one.");
}

}  // namespace forebay::python
