// SPDX-License-Identifier: Apache-2.0
#include "steps/audio/wav_header.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include <fmt/core.h>

#include "steps/audio/limits.h"

namespace forebay::steps {
namespace {

constexpr std::uint64_t chunk_header = 8;
constexpr std::uint64_t riff_header = 12;
constexpr std::uint64_t min_format = 16;            // bytes of a `fmt ` chunk without extension
constexpr std::uint64_t max_format = 4096;          // ADPCM has a table in it
constexpr std::uint32_t unknown_size = 0xFFFFFFFF;  // in RF64: the size is in the chunk `ds64`
constexpr std::uint32_t piped_size = 0x7FFFF000;    // SoX states this one, FFmpeg 0xFFFFFFFF
constexpr std::uint64_t max_header = 0x7FFFFFFF;    // bytes of data that a RIFF header can state

enum Tag : std::uint16_t {
  pcm = 1,
  ms_adpcm = 2,
  floats = 3,
  alaw = 6,
  mulaw = 7,
  ima_adpcm = 17,
  extensible = 0xFFFE
};

template <class T>
T number_at(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

bool is_at(std::span<const std::byte> bytes, std::size_t at, const char* name) {
  return bytes.size() >= at + 4 && std::memcmp(bytes.data() + at, name, 4) == 0;
}

Error wav_fault(std::string what) { return {Code::data, Detail::data_loss, "not an intact WAV file: " + what}; }

std::string name_of(std::span<const std::byte> bytes, std::size_t at) {
  std::string name(reinterpret_cast<const char*>(bytes.data()) + at, 4);
  for (char& letter : name) letter = letter < ' ' || letter > '~' ? '?' : letter;
  return name;
}

/// Refuses formats whose samples have no possible size, before the library computes with it.
Result<void> check_format(std::span<const std::byte> format) {
  auto tag = number_at<std::uint16_t>(format, 0);
  const auto channels = number_at<std::uint16_t>(format, 2);
  const auto rate = number_at<std::uint32_t>(format, 4);
  const auto align = number_at<std::uint16_t>(format, 12);
  const auto bits = number_at<std::uint16_t>(format, 14);
  if (tag == extensible) {
    if (format.size() < 40) return wav_fault(fmt::format("an extensible format of {} bytes; it has 40", format.size()));
    tag = number_at<std::uint16_t>(format, 24);
  }
  FOREBAY_DO(check_sound(channels, rate));
  const auto allow = [&](std::initializer_list<int> sizes) -> Result<void> {
    const bool known = std::find(sizes.begin(), sizes.end(), bits) != sizes.end();
    if (known && align == channels * bits / 8) return {};
    return wav_fault(
        fmt::format("format {} with {} bits a sample, {} channels and {} bytes a frame", tag, bits, channels, align));
  };
  switch (tag) {
    case pcm:
      if (bits > 32 && bits <= 64) {
        return Error{Code::data, Detail::invalid_argument,
                     fmt::format("WAV of {} bits a sample is not read; up to 32 are: convert it, for example with "
                                 "`sox in.wav -b 32 out.wav`",
                                 bits)};
      }
      if (bits >= 1 && align == channels * ((bits + 7) / 8)) return {};
      return allow({8, 16, 24, 32});
    case floats:
      return allow({32, 64});
    case alaw:
    case mulaw:
      return allow({8});
    case ms_adpcm:
    case ima_adpcm:
      if (bits == 4 && align >= 7 * channels && channels <= 2) return {};
      return wav_fault(
          fmt::format("ADPCM with {} bits a sample, {} channels and {} bytes a block", bits, channels, align));
    default:
      return wav_fault(fmt::format("format {} is not read; PCM, float, A-law, mu-law and ADPCM are", tag));
  }
}

void append_chunk(std::string& out, const char* name, std::span<const std::byte> content) {
  const auto size = static_cast<std::uint32_t>(content.size());
  out.append(name, 4).append(reinterpret_cast<const char*>(&size), 4);
  out.append(reinterpret_cast<const char*>(content.data()), content.size());
  if (content.size() % 2 != 0) out += '\0';
}

/// Goes through the chunks of a file, each once and always forward.
class WavChunks {
 public:
  explicit WavChunks(std::span<const std::byte> bytes) : bytes_{bytes} {}

  Result<WavFile> read() {
    if (bytes_.size() < riff_header) return wav_fault("it is cut short in its first 12 bytes");
    for (std::uint64_t at = riff_header; at + chunk_header <= bytes_.size();) {
      const std::uint64_t begin = at + chunk_header;
      const std::uint64_t left = bytes_.size() - begin;
      std::uint64_t size = number_at<std::uint32_t>(bytes_, at + 4);
      if (is_at(bytes_, at, "data")) return data(begin, size);
      if (size > left)
        return wav_fault(fmt::format("the chunk '{}' has {} bytes, {} are there", name_of(bytes_, at), size, left));
      const auto content = bytes_.subspan(begin, size);
      if (is_at(bytes_, at, "fmt ")) FOREBAY_DO(take_format(content));
      if (is_at(bytes_, at, "fact")) fact_ = content;
      if (is_at(bytes_, at, "ds64") && size >= 16) long_size_ = number_at<std::uint64_t>(content, 8);
      at = begin + size + size % 2;
    }
    return wav_fault(format_.empty() ? "it has no chunk 'fmt ' and no chunk 'data'" : "it has no chunk 'data'");
  }

 private:
  Result<void> take_format(std::span<const std::byte> content) {
    if (!format_.empty()) return wav_fault("it has two chunks 'fmt '");
    if (content.size() < min_format || content.size() > max_format)
      return wav_fault(fmt::format("the chunk 'fmt ' has {} bytes", content.size()));
    FOREBAY_DO(check_format(content));
    format_ = content;
    // Samples of 12 bits lie in the upper bits of 16: they are read as samples of whole bytes.
    const auto bits = number_at<std::uint16_t>(content, 14);
    if (number_at<std::uint16_t>(content, 0) != pcm || bits % 8 == 0) return {};
    whole_bytes_.assign(content.begin(), content.end());
    const auto padded = static_cast<std::uint16_t>((bits + 7) / 8 * 8);
    std::memcpy(whole_bytes_.data() + 14, &padded, sizeof(padded));
    format_ = whole_bytes_;
    return {};
  }

  Result<WavFile> data(std::uint64_t begin, std::uint64_t size) {
    if (format_.empty()) return wav_fault("there is no chunk 'fmt ' before the chunk 'data'");
    const std::uint64_t left = bytes_.size() - begin;
    if (size == unknown_size && long_size_ && is_at(bytes_, 0, "RF64")) size = *long_size_;
    // Programs that write to a pipe cannot go back to state the size.
    const bool piped = is_at(bytes_, 0, "RIFF") && number_at<std::uint32_t>(bytes_, 4) >= piped_size;
    if (piped && size >= piped_size && size > left) size = left - left % number_at<std::uint16_t>(format_, 12);
    if (size > left) return wav_fault(fmt::format("the chunk 'data' has {} bytes, {} are there", size, left));
    if (size == 0 && left > 1) return wav_fault(fmt::format("the chunk 'data' has 0 bytes, but {} follow", left));
    if (size > max_header) return wav_fault(fmt::format("{} bytes of samples; at most {} are read", size, max_header));
    const std::uint64_t frame = number_at<std::uint16_t>(format_, 12);
    if (const bool blocks = number_at<std::uint16_t>(format_, 14) == 4; !blocks && size % frame != 0)
      return wav_fault(fmt::format("the chunk 'data' has {} bytes, no multiple of the {} of a frame", size, frame));
    WavFile out{.header = {},
                .data = bytes_.subspan(begin, size),
                .channels = number_at<std::uint16_t>(format_, 2),
                .rate = number_at<std::uint32_t>(format_, 4),
                .pcm16 = number_at<std::uint16_t>(format_, 0) == pcm && number_at<std::uint16_t>(format_, 14) == 16};
    std::string chunks = "WAVE";
    append_chunk(chunks, "fmt ", format_);
    if (fact_.size() == 4) append_chunk(chunks, "fact", fact_);
    const auto whole = static_cast<std::uint32_t>(chunks.size() + chunk_header + size);
    const auto data_size = static_cast<std::uint32_t>(size);
    out.header.append("RIFF").append(reinterpret_cast<const char*>(&whole), 4).append(chunks);
    out.header.append("data").append(reinterpret_cast<const char*>(&data_size), 4);
    return out;
  }

  const std::span<const std::byte> bytes_;
  std::span<const std::byte> format_, fact_;
  std::vector<std::byte> whole_bytes_;  // `format_` of samples that do not fill their bytes
  std::optional<std::uint64_t> long_size_;
};

}  // namespace

bool looks_like_wav(std::span<const std::byte> bytes) {
  return (is_at(bytes, 0, "RIFF") || is_at(bytes, 0, "RF64")) && is_at(bytes, 8, "WAVE");
}

Result<WavFile> read_wav(std::span<const std::byte> bytes) { return WavChunks{bytes}.read(); }

}  // namespace forebay::steps
