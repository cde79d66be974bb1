// SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include <cstdint>
#include <span>
#include <string>

#include <forebay/image.h>
#include <nanobind/stl/string.h>

#include "arrays.h"
#include "documents.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

std::span<const std::byte> file_of(const nb::bytes& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.c_str()), bytes.size()};
}

nb::object decode(const nb::bytes& data, const nb::dict& options, std::uint64_t seed) {
  const Json json = to_json(options);
  auto done = [&] {
    Unlocked decoding;
    return decode_image(file_of(data), json, seed);
  }();
  return to_array(value_of(std::move(done)));
}

}  // namespace

void bind_images(nb::module_& module) {
  module.def("decode_image", &decode, nb::arg("data"), nb::arg("options"), nb::arg("seed"),
             nb::sig("def decode_image(data: bytes, options: dict[str, typing.Any], seed: int) -> typing.Any"));
  module.def(
      "image_format", [](const nb::bytes& data) { return value_of(image_format(file_of(data))); }, nb::arg("data"),
      nb::sig("def image_format(data: bytes) -> str"));
}

}  // namespace forebay::python
