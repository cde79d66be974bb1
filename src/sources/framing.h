// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <forebay/plugin.h>

namespace forebay::sources {

/// Extents have 32 bits, and a record's frame has to fit.
inline constexpr std::int64_t max_record_bytes = (std::int64_t{1} << 32) - (1 << 16);
inline constexpr std::int64_t usual_record_bytes = 1 << 30;

/// Deviations that are accepted; the fields are those of TfRecord.
struct Framing {
  std::int64_t max_record_bytes = usual_record_bytes;
  bool tolerate_partial_header = false;
  bool allow_trailing_zeros = false;
};

/// The framing of TFRecord files, for the source `tfrecord` and for tools that read whole files.
[[nodiscard]] std::shared_ptr<const Format> tfrecord_format(Framing framing = {});

/// The signature of the framing in an index: the format and the options that change which records are found.
[[nodiscard]] std::string tfrecord_signature(Framing framing = {});

}  // namespace forebay::sources
