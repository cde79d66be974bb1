// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/mapped_file.h"
#include "engine/sync.h"

namespace forebay::engine {

/// Mapped files that stay mapped from one pass to the next, as long as they fit: mapping a page again costs as much as
/// decoding the records in it. Any thread may call.
class KeptFiles {
 public:
  explicit KeptFiles(std::int64_t limit) : limit_{limit} {}

  struct Mapped {
    std::shared_ptr<MappedFile> file;  ///< Null when the file cannot be mapped.
    bool kept = false;                 ///< Its pages are accounted here, once.
    bool fresh = true;                 ///< Its pages have not been touched yet.
  };
  /// The mapping of file `number`, which has been opened as `file`; a kept one only while the file is still the same.
  [[nodiscard]] Mapped map(std::uint32_t number, const io::File& file) EXCLUDES(mutex_);
  [[nodiscard]] std::int64_t bytes() const EXCLUDES(mutex_);

 private:
  const std::int64_t limit_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<MappedFile>> files_ GUARDED_BY(mutex_);  // by number
  std::int64_t bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace forebay::engine
