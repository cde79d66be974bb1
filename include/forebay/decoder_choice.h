// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <forebay/json_codec.h>

namespace forebay {

/// A decoder and its options, as a document has them: {"example": {"features": …}}. A type for fields of options
/// structs; `bind_decoder` (plugin.h) makes the decoder.
struct DecoderChoice {
  std::string name;
  Json options = Json::object();  ///< With the places of the document, for faults.
};

template <>
struct JsonCodec<DecoderChoice> {
  static constexpr FieldKind kind = FieldKind::decoder;
  static std::optional<DecoderChoice> read(const Json& json, std::vector<Error>& faults);
  static Json write(const DecoderChoice& value);
  static Json schema();
  static std::string python_type() { return "dict[str, object]"; }
};

}  // namespace forebay
