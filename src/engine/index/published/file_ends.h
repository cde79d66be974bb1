// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/index/index_store.h"
#include "engine/requests/requests.h"

namespace forebay::engine {

/// Hashes of both ends of a file (io::FileIdentity): what a copy of it in another place has, too.
struct FileEnds {
  std::uint64_t head = 0, tail = 0;
  bool operator==(const FileEnds&) const = default;

  /// Of a file with these bytes at its ends.
  [[nodiscard]] static FileEnds of(std::span<const std::byte> head, std::span<const std::byte> tail);
  /// Of the file that the entries are of, as far as they tell: of its identity, or in an entry of StoredKind::ends.
  [[nodiscard]] static std::optional<FileEnds> of(std::span<const StoreEntry> entries);
  /// The payload of an entry of StoredKind::ends.
  [[nodiscard]] std::vector<std::byte> image() const;
};

/// The ends of one version of a file of another machine, which are asked for.
class AskedEnds {
 public:
  AskedEnds(Requests& requests, std::string file, const io::FileIdentity& version);
  /// Waits for them. Fails with the error of a request, at the file. Throws Closed as `requests` does.
  [[nodiscard]] Result<FileEnds> wait(Requests& requests) const;

 private:
  std::string file_;
  std::shared_ptr<Request> head_, tail_;  // null: the file is empty
};

}  // namespace forebay::engine
