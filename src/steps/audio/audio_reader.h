// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <forebay/error.h>

#include <sndfile.h>

#include "steps/audio/memory_file.h"
#include "steps/audio/mpeg_reader.h"

namespace forebay::steps {

/// Reads one audio file in memory after the other: WAV, FLAC, Ogg Vorbis and MP3; others are refused. WAV files of 16
/// bits are read here, MP3 by libmpg123, all others by libsndfile.
///
///     open ─► seek ─► read ─► read ─► …        `open` may follow at any time
///
/// Every function fails with Code::data when the bytes are no intact file, as far as they were read. Used by one thread
/// at a time.
class AudioReader {
 public:
  struct Header {
    std::int64_t rate = 0;
    std::int64_t channels = 0;
    std::optional<std::int64_t> frames;  ///< Empty: only reading tells.
  };

  AudioReader() = default;
  AudioReader(const AudioReader&) = delete;
  AudioReader& operator=(const AudioReader&) = delete;

  /// Reads the header. `bytes` must stay as they are until the last read.
  [[nodiscard]] Result<Header> open(std::span<const std::byte> bytes);
  /// The next read begins at that frame, which is at most the number of frames.
  [[nodiscard]] Result<void> seek(std::int64_t frame);
  /// Reads up to `frames` frames of `channels` samples each, and returns how many; fewer: the file ends there.
  [[nodiscard]] Result<std::int64_t> read(float* samples, std::int64_t frames);
  void close();  ///< Gives the memory of the library back.

 private:
  struct Close {
    void operator()(SNDFILE* file) const { sf_close(file); }
  };
  static sf_count_t length(void* self);
  static sf_count_t move(sf_count_t offset, int whence, void* self);
  static sf_count_t copy(void* to, sf_count_t count, void* self);
  static sf_count_t write(const void*, sf_count_t, void*) { return 0; }
  static sf_count_t tell(void* self) { return static_cast<MemoryFile*>(self)->at; }

  [[nodiscard]] Error fault(const std::string& what) const;
  [[nodiscard]] std::int64_t read_integers(float* samples, std::int64_t frames);

  MemoryFile bytes_;
  std::span<const std::byte> integers_;  // samples of 16 bits that are not read yet
  const char* format_ = "";
  Header header_;
  MpegReader mpeg_;  // of MP3
  bool seeks_ = true;
  std::unique_ptr<SNDFILE, Close> file_;  // null for the two before. Last: the library reads the bytes while it closes
};

}  // namespace forebay::steps
