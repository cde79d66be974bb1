// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forebay/plugin.h>
#include <forebay/sources/fixed_length.h>

namespace forebay::sources {

/// Bytes of an image of CIFAR: three channels of 32 × 32 pixels.
inline constexpr std::int64_t cifar_image_bytes = 3 * 32 * 32;

/// What the files of a preset of fixed_length must have. Immutable.
struct FixedLayout {
  FixedLength options;                    ///< With the sizes of the format, and a strict tail.
  Source::Decides decides = {};           ///< What the decoder `raw` then knows.
  std::vector<std::byte> header = {};     ///< Of IDX: the header of the first file.
  std::string first = {};                 ///< Of IDX: the path of the first file.
  std::vector<std::int64_t> counts = {};  ///< Of IDX: the numbers of records of the files, each once, ascending.
  std::string signature = {};             ///< Of an index: changes when `header` does.

  /// Compares the header of a file, which has `header.size()` bytes: type and sizes of an item must be the same.
  [[nodiscard]] Result<void> check_header(std::span<const std::byte> found) const;
  /// Checks that a file whose content has `size` bytes has as many records as a header says.
  [[nodiscard]] Result<void> check_size(std::int64_t size) const;
};

/// The layout of the files, whose headers are read here. Fails with Code::config when sizes are given beside the
/// preset, and with Code::data and the file when a header is not of the format.
[[nodiscard]] Result<FixedLayout> layout_of_preset(const FixedLength& options, const std::vector<std::string>& files,
                                                   const BindContext& context);

}  // namespace forebay::sources
