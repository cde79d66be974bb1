// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/dtype.h>
#include <forebay/field_types.h>

namespace forebay {

/// What a string gets that is not in the vocabulary.
enum class UnknownToken : std::uint8_t { error, id, hash };
template <>
struct EnumNames<UnknownToken> {
  static constexpr std::array<std::string_view, 3> names{"error", "id", "hash"};
};

/// Replaces strings by their numbers in a vocabulary. The first entry has the number `first_id`. Either `file` or
/// `tokens` is given. A file has one entry a line; the content of the file is part of the plan's hash.
struct Lookup {
  TensorName tensor;                           ///< Strings of any shape.
  std::optional<NewTensorName> out = {};       ///< Name of the numbers. Empty: they replace `tensor`.
  std::optional<DataFile> file = {};           ///< One entry a line, at most 64 MiB.
  std::vector<std::string> tokens = {};        ///< The entries, instead of a file.
  UnknownToken unknown = UnknownToken::error;  ///< error: a fault of the row.
  std::int64_t unknown_id = -1;                ///< Of `id`: the number of all unknown strings.
  std::int64_t buckets = 1;                    ///< Of `hash`: numbers after the vocabulary's that strings share.
  std::int64_t first_id = 0;                   ///< The number of the first entry.
  DType dtype = DType::int64;                  ///< int64 or int32.
};

}  // namespace forebay
