// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

#include <forebay/json_codec.h>
#include <forebay/steps/decode_image.h>

namespace forebay {

template <>
struct EnumNames<ImageLayout> {
  static constexpr std::array<std::string_view, 2> names{"hwc", "chw"};
};

}  // namespace forebay
