// SPDX-License-Identifier: Apache-2.0
#include "steps/audio/mpeg_reader.h"

#include <algorithm>
#include <cstring>
#include <new>

#include <fmt/core.h>

namespace forebay::steps {
namespace {

constexpr std::size_t frame_header = 4;  // bytes

unsigned at(std::span<const std::byte> bytes, std::size_t place) { return std::to_integer<unsigned>(bytes[place]); }

/// Bytes 0 to 3 as one number.
std::size_t big_endian(std::span<const std::byte> bytes) {
  return std::size_t{at(bytes, 0)} << 24 | at(bytes, 1) << 16 | at(bytes, 2) << 8 | at(bytes, 3);
}

/// Whether a first frame of layer 3 says how many frames follow: a header of Xing or of Fraunhofer's VBRI, which lies
/// where the side information would end, and there where a checksum before it would move it to.
bool tells_frames(std::span<const std::byte> frame) {
  constexpr std::size_t vbri = frame_header + 32;
  constexpr std::size_t vbri_frames = 14;
  if (frame.size() >= vbri + vbri_frames + 4 && starts(frame.subspan(vbri), "VBRI"))
    return big_endian(frame.subspan(vbri + vbri_frames)) > 0;
  const bool first_version = (at(frame, 1) >> 3 & 3) == 3;
  const bool mono = at(frame, 3) >> 6 == 3;
  const std::size_t place = frame_header + (first_version ? (mono ? 17U : 32U) : mono ? 9U : 17U);
  for (const std::size_t checksum : {std::size_t{0}, std::size_t{2}}) {
    if (frame.size() < place + checksum + 12) break;
    const auto tag = frame.subspan(place + checksum);
    if (starts(tag, "Xing") || starts(tag, "Info")) return (at(tag, 7) & 1) != 0 && big_endian(tag.subspan(8)) > 0;
  }
  return false;
}

}  // namespace

bool starts(std::span<const std::byte> bytes, std::string_view with) {
  return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
}

std::span<const std::byte> behind_id3(std::span<const std::byte> bytes) {
  constexpr std::size_t tag = 10;
  const std::size_t all = bytes.size();
  while (bytes.size() >= tag && starts(bytes, "ID3")) {
    std::size_t size = 0;
    for (std::size_t i = 6; i < tag; ++i) size = size << 7 | (at(bytes, i) & 0x7F);
    size += (at(bytes, 5) & 0x10) != 0 ? 2 * tag : tag;  // a footer repeats the header
    bytes = bytes.subspan(std::min(size, bytes.size()));
  }
  const auto zeros = std::ranges::find_if(bytes, [](std::byte byte) { return byte != std::byte{0}; }) - bytes.begin();
  const auto rest = bytes.subspan(static_cast<std::size_t>(zeros));
  return bytes.size() < all || looks_like_mpeg(rest) ? rest : bytes;
}

bool looks_like_mpeg(std::span<const std::byte> bytes) {
  if (bytes.size() < frame_header || at(bytes, 0) != 0xFF || (at(bytes, 1) & 0xE0) != 0xE0) return false;
  const bool version = (at(bytes, 1) & 0x18) != 0x08;
  const bool layer = (at(bytes, 1) & 0x06) != 0;
  return version && layer && at(bytes, 2) >> 4 != 15 && (at(bytes, 2) >> 2 & 3) != 3;
}

ssize_t MpegReader::copy(void* self, void* to, std::size_t count) {
  return static_cast<MemoryFile*>(self)->read(to, static_cast<std::int64_t>(count));
}

off_t MpegReader::move(void* self, off_t offset, int whence) {
  return static_cast<MemoryFile*>(self)->seek(offset, whence);
}

Error MpegReader::fault(std::string_view what) const {
  return {Code::data, Detail::data_loss, fmt::format("not an intact MP3 file: {}", what)};
}

/// The handle is kept for the files that follow.
Result<void> MpegReader::make() {
  if (handle_) return {};
  [[maybe_unused]] static const int ready = mpg123_init();
  handle_.reset(mpg123_new(nullptr, nullptr));
  if (!handle_) throw std::bad_alloc{};
  // QUIET: the library has no other way to say things than standard error.
  const long flags = MPG123_QUIET | MPG123_FORCE_FLOAT | MPG123_GAPLESS | MPG123_NO_FRANKENSTEIN;
  mpg123_param(handle_.get(), MPG123_REMOVE_FLAGS, MPG123_AUTO_RESAMPLE, 0);
  mpg123_param(handle_.get(), MPG123_ADD_FLAGS, flags, 0);
  if (mpg123_replace_reader_handle(handle_.get(), &MpegReader::copy, &MpegReader::move, nullptr) != MPG123_OK)
    return fault("it cannot be opened");
  return {};
}

Result<MpegReader::Header> MpegReader::open(std::span<const std::byte> bytes) {
  close();
  FOREBAY_DO(make());
  bytes_ = {.header = {}, .rest = bytes};
  long rate = 0;
  int channels = 0;
  int encoding = 0;
  mpg123_handle* const handle = handle_.get();
  if (mpg123_open_handle(handle, &bytes_) != MPG123_OK ||
      mpg123_getformat(handle, &rate, &channels, &encoding) != MPG123_OK || encoding != MPG123_ENC_FLOAT_32)
    return fault("no frame of it can be decoded");
  if (!tells_frames(bytes) && mpg123_scan(handle) != MPG123_OK) return fault("its frames cannot be counted");
  const off_t frames = mpg123_length(handle);
  if (frames < 0) return fault("its frames cannot be counted");
  channels_ = channels;
  rate_ = rate;
  return Header{.rate = rate_, .channels = channels_, .frames = frames};
}

Result<std::int64_t> MpegReader::read(float* samples, std::int64_t frames) {
  const std::size_t frame = static_cast<std::size_t>(channels_) * sizeof(float);
  const std::size_t wanted = static_cast<std::size_t>(frames) * frame;
  std::size_t made = 0;
  while (made < wanted) {
    std::size_t some = 0;
    auto* const out = reinterpret_cast<unsigned char*>(samples) + made;
    const int got = mpg123_read(handle_.get(), out, wanted - made, &some);
    made += some;
    if (got == MPG123_DONE) break;
    if (got == MPG123_NEW_FORMAT) {
      long rate = 0;
      int channels = 0;
      int encoding = 0;
      mpg123_getformat(handle_.get(), &rate, &channels, &encoding);
      if (rate != rate_ || channels != channels_) return fault("its frames have several rates or numbers of channels");
    } else if (got != MPG123_OK) {
      return fault("a frame of it cannot be decoded");
    }
  }
  return static_cast<std::int64_t>(made / frame);
}

void MpegReader::close() {
  if (handle_ && bytes_.rest.data() != nullptr) mpg123_close(handle_.get());
  bytes_ = {};
  channels_ = 0;
}

}  // namespace forebay::steps
