// SPDX-License-Identifier: Apache-2.0
#include "audio.h"

#include <cstdint>
#include <span>

#include <forebay/audio.h>

#include "arrays.h"
#include "documents.h"
#include "interpreter.h"

namespace forebay::python {
namespace {

nb::object decode(const nb::bytes& data, const nb::dict& options) {
  const Json json = to_json(options);
  const std::span file{reinterpret_cast<const std::byte*>(data.c_str()), data.size()};
  auto done = [&] {
    Unlocked decoding;
    return decode_audio(file, json);
  }();
  const AudioClip clip = value_of(std::move(done));
  return nb::make_tuple(to_array(clip.samples), clip.sample_rate);
}

/// `make` is log_mel or mfcc.
nb::object spectrum(nb::handle array, const nb::dict& options,
                    Result<Tensor> (*make)(std::span<const float>, const Json&)) {
  const Json json = to_json(options);
  nb::object owner;
  const Tensor samples = to_tensor(array, "samples", owner);
  auto done = [&] {
    Unlocked working;
    return make(samples.as<const float>(), json);
  }();
  return to_array(value_of(std::move(done)));
}

}  // namespace

void bind_audio(nb::module_& module) {
  module.def("decode_audio", &decode, nb::arg("data"), nb::arg("options"),
             nb::sig("def decode_audio(data: bytes, options: dict[str, typing.Any]) -> tuple[typing.Any, int]"));
  module.def(
      "log_mel", [](nb::handle samples, const nb::dict& options) { return spectrum(samples, options, &log_mel); },
      nb::arg("samples"), nb::arg("options"),
      nb::sig("def log_mel(samples: typing.Any, options: dict[str, typing.Any]) -> typing.Any"));
  module.def(
      "mfcc", [](nb::handle samples, const nb::dict& options) { return spectrum(samples, options, &mfcc); },
      nb::arg("samples"), nb::arg("options"),
      nb::sig("def mfcc(samples: typing.Any, options: dict[str, typing.Any]) -> typing.Any"));
}

}  // namespace forebay::python
