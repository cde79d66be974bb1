// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <forebay/field_types.h>

namespace forebay {

/// Splits a record of the source `tar` into tensors: the bytes of its members by extension, and its key. The bytes are
/// delivered as they are, also those of a pickle.
struct TarExtensions {
  /// The extension of each tensor, "jpg" or "seg.png", in any case; "jpg;png" takes the first one that is there.
  std::vector<std::pair<std::string, std::string>> columns;
  bool allow_missing = false;   ///< A record without the extension has the empty string; otherwise that is an error.
  std::string key = "__key__";  ///< Name of the tensor that has the key.
};

}  // namespace forebay
