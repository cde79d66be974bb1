// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include <forebay/error.h>

#include "io/file_system.h"
#include "io/identity.h"

namespace forebay::engine {

/// The name of a catalogue in its folder. One of another version has another name.
inline constexpr std::string_view catalogue_name = "catalogue-v1";

/// What a catalogue says of one file.
struct CatalogueEntry {
  io::FileIdentity identity;   ///< Of the file when its index was made.
  std::int64_t records = 0;    ///< Of the index of all its records; -1: it has none.
  io::ByteRange entries = {};  ///< In the store.
};

/// The files of a folder, by name, and where the entries of each are in its store. In a file it is JSON
/// (docs/formats/index.md).
class Catalogue {
 public:
  /// Fails with Code::data for a text that is no catalogue.
  [[nodiscard]] static Result<Catalogue> parse(std::string_view text);

  void add(const std::string& name, const CatalogueEntry& entry) { files_[name] = entry; }
  [[nodiscard]] const CatalogueEntry* find(const std::string& name) const;  ///< Null: it does not name the file.
  [[nodiscard]] std::string text() const;

 private:
  std::map<std::string, CatalogueEntry, std::less<>> files_;
};

}  // namespace forebay::engine
