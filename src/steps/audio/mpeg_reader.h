// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <forebay/error.h>

#include <mpg123.h>

#include "steps/audio/memory_file.h"

namespace forebay::steps {

/// Whether the bytes begin with these.
[[nodiscard]] bool starts(std::span<const std::byte> bytes, std::string_view with);

/// The bytes behind the ID3v2 tags, and behind zeros after them, at the beginning of a file.
[[nodiscard]] std::span<const std::byte> behind_id3(std::span<const std::byte> bytes);

/// Whether a frame of MPEG audio, layer 1, 2 or 3, begins there.
[[nodiscard]] bool looks_like_mpeg(std::span<const std::byte> bytes);

/// Reads one file of MPEG audio in memory after the other, by libmpg123. Used by one thread at a time.
///
/// Where the first frame tells how many follow, that number counts, and padding that the encoder added is left out.
/// Else all frames are counted before the first one is decoded, because a length that is guessed from the first frame
/// cuts or refuses files of a variable rate.
class MpegReader {
 public:
  struct Header {
    std::int64_t rate = 0;
    std::int64_t channels = 0;
    std::int64_t frames = 0;  ///< Samples of a channel.
  };

  /// Fails with Code::data when the bytes are no intact file. They must stay as they are until `close`.
  [[nodiscard]] Result<Header> open(std::span<const std::byte> bytes);
  /// Reads up to `frames` samples of each channel, and returns how many; fewer: the file ends there.
  [[nodiscard]] Result<std::int64_t> read(float* samples, std::int64_t frames);
  void close();
  [[nodiscard]] bool is_open() const { return channels_ > 0; }

 private:
  struct Delete {
    void operator()(mpg123_handle* handle) const { mpg123_delete(handle); }
  };
  static ssize_t copy(void* self, void* to, std::size_t count);
  static off_t move(void* self, off_t offset, int whence);
  [[nodiscard]] Result<void> make();
  [[nodiscard]] Error fault(std::string_view what) const;

  MemoryFile bytes_;
  std::int64_t channels_ = 0;  // 0: no file is open
  std::int64_t rate_ = 0;
  std::unique_ptr<mpg123_handle, Delete> handle_;  // last: it reads the bytes while it is deleted
};

}  // namespace forebay::steps
