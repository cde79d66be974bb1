// SPDX-License-Identifier: Apache-2.0
#include "steps/audio/audio_reader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "steps/audio/limits.h"
#include "steps/audio/wav_header.h"

namespace forebay::steps {
namespace {

constexpr std::size_t sample_bytes = sizeof(std::int16_t);

/// The format as the first bytes behind tags of ID3 say; null: none that is read.
const char* audio_format_of(std::span<const std::byte> bytes) {
  if (looks_like_wav(bytes)) return "WAV";
  if (starts(bytes, "fLaC")) return "FLAC";
  if (starts(bytes, "OggS")) return "Ogg Vorbis";
  if (looks_like_mpeg(bytes)) return "MP3";
  return nullptr;
}

/// Bits of a sample as the first block of a FLAC file states them; nothing where it is cut short.
std::optional<int> flac_bits(std::span<const std::byte> bytes) {
  constexpr std::size_t at = 4 + 4 + 12;  // mark, header of the block, and in it sizes, rate and channels
  if (bytes.size() < at + 2) return std::nullopt;
  const auto pair = std::to_integer<int>(bytes[at]) << 8 | std::to_integer<int>(bytes[at + 1]);
  return (pair >> 4 & 31) + 1;
}

int format_of_library(std::string_view name) {
  if (name == "WAV") return SF_FORMAT_WAV;
  return name == "FLAC" ? SF_FORMAT_FLAC : SF_FORMAT_OGG;
}

}  // namespace

sf_count_t AudioReader::length(void* self) { return static_cast<MemoryFile*>(self)->size(); }

sf_count_t AudioReader::move(sf_count_t offset, int whence, void* self) {
  return static_cast<MemoryFile*>(self)->seek(offset, whence);
}

sf_count_t AudioReader::copy(void* to, sf_count_t count, void* self) {
  return static_cast<MemoryFile*>(self)->read(to, count);
}

Error AudioReader::fault(const std::string& what) const {
  return {Code::data, Detail::data_loss, fmt::format("not an intact {} file: {}", format_, what)};
}

Result<AudioReader::Header> AudioReader::open(std::span<const std::byte> bytes) {
  close();
  const std::size_t size = bytes.size();
  bytes = behind_id3(bytes);
  format_ = audio_format_of(bytes);
  if (starts(bytes, "RIFX")) {
    return Error{Code::data, Detail::invalid_argument,
                 "WAV of big-endian numbers (RIFX) is not read; convert it, for example with `sox in.wav -L out.wav`"};
  }
  if (format_ == nullptr) {
    return Error{Code::data, Detail::data_loss,
                 fmt::format("the {} bytes are no audio file that is read: WAV, FLAC, Ogg Vorbis, MP3", size)};
  }
  if (std::string_view{format_} == "MP3") {
    FOREBAY_TRY(const MpegReader::Header mpeg, mpeg_.open(bytes));
    FOREBAY_DO(check_sound(mpeg.channels, mpeg.rate));
    seeks_ = false;
    return header_ = {.rate = mpeg.rate, .channels = mpeg.channels, .frames = mpeg.frames};
  }
  if (const auto bits = std::string_view{format_} == "FLAC" ? flac_bits(bytes) : std::nullopt;
      bits && *bits != 8 && *bits != 16 && *bits != 24) {
    return Error{Code::data, Detail::invalid_argument,
                 fmt::format("FLAC of {} bits a sample is not read; 8, 16 and 24 are: convert it, for example with "
                             "`sox in.flac -b 24 out.flac`",
                             *bits)};
  }
  bytes_ = {.header = {}, .rest = bytes};
  const int format = format_of_library(format_);
  if (format == SF_FORMAT_WAV) {
    FOREBAY_TRY(WavFile wav, read_wav(bytes));
    if (wav.pcm16 && !wav.data.empty()) {
      integers_ = wav.data;
      const std::int64_t frames = std::ssize(wav.data) / (wav.channels * std::int64_t{sample_bytes});
      return header_ = {.rate = wav.rate, .channels = wav.channels, .frames = frames};
    }
    bytes_ = {.header = std::move(wav.header), .rest = wav.data};
  }
  static SF_VIRTUAL_IO calls{&AudioReader::length, &AudioReader::move, &AudioReader::copy, &AudioReader::write,
                             &AudioReader::tell};
  SF_INFO info{};
  file_.reset(sf_open_virtual(&calls, SFM_READ, &info, &bytes_));
  if (file_ == nullptr) return fault(sf_strerror(nullptr));
  if (const int found = info.format & SF_FORMAT_TYPEMASK; found != format && found != SF_FORMAT_WAVEX)
    return fault("its content is of another format");
  FOREBAY_DO(check_sound(info.channels, info.samplerate));
  seeks_ = info.seekable != 0;
  header_ = {.rate = info.samplerate, .channels = info.channels, .frames = {}};
  if (info.frames >= 0 && info.frames < SF_COUNT_MAX) header_.frames = info.frames;
  return header_;
}

Result<void> AudioReader::seek(std::int64_t frame) {
  if (frame == 0) return {};
  if (file_ == nullptr && !mpeg_.is_open()) {
    integers_ = integers_.subspan(static_cast<std::size_t>(frame * header_.channels) * sample_bytes);
    return {};
  }
  if (seeks_) {
    if (sf_seek(file_.get(), frame, SEEK_SET) == frame) return {};
    return fault(fmt::format("there is no frame {}", frame));
  }
  // A frame of MP3 depends on frames before it: only reading gives its exact samples.
  std::array<float, 4096> unused;
  for (const std::int64_t most = std::ssize(unused) / header_.channels; frame > 0;) {
    FOREBAY_TRY(const std::int64_t got, read(unused.data(), std::min(most, frame)));
    if (got == 0) return {};
    frame -= got;
  }
  return {};
}

/// A whole power of two divides the samples, so the floats are exact.
std::int64_t AudioReader::read_integers(float* samples, std::int64_t frames) {
  const std::int64_t there = std::ssize(integers_) / (header_.channels * std::int64_t{sample_bytes});
  const std::int64_t got = std::clamp<std::int64_t>(frames, 0, there);
  std::array<std::int16_t, 2048> some;  // aligned, and in the first-level cache
  for (auto left = static_cast<std::size_t>(got * header_.channels); left > 0;) {
    const std::size_t count = std::min(left, some.size());
    std::memcpy(some.data(), integers_.data(), count * sample_bytes);
    for (std::size_t i = 0; i < count; ++i) samples[i] = static_cast<float>(some[i]) * (1.0F / 32768.0F);
    integers_ = integers_.subspan(count * sample_bytes);
    samples += count;
    left -= count;
  }
  return got;
}

Result<std::int64_t> AudioReader::read(float* samples, std::int64_t frames) {
  if (mpeg_.is_open()) return mpeg_.read(samples, frames);
  if (file_ == nullptr) return read_integers(samples, frames);
  const sf_count_t got = sf_readf_float(file_.get(), samples, frames);
  if (got < 0 || got > frames || sf_error(file_.get()) != SF_ERR_NO_ERROR) return fault(sf_strerror(file_.get()));
  return got;
}

void AudioReader::close() {
  file_.reset();
  mpeg_.close();
  bytes_ = {};
  integers_ = {};
}

}  // namespace forebay::steps
