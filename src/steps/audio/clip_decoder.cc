// SPDX-License-Identifier: Apache-2.0
#include "steps/audio/clip_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "steps/audio/limits.h"
#include "steps/output.h"

namespace forebay::steps {
namespace {

constexpr std::int64_t frames_a_read = 1 << 15;
constexpr double max_position = 1e12;  // samples or seconds; a rate is below 2^22, so products stay exact enough

/// A position in `unit` as frames, to the nearest.
std::int64_t frames_in(double position, AudioUnit unit, std::int64_t rate) {
  return std::llround(unit == AudioUnit::samples ? position : position * static_cast<double>(rate));
}

Error too_long(std::int64_t samples, std::int64_t limit) {
  return {Code::data, Detail::invalid_argument,
          fmt::format("the clip has at least {} samples, more than max_samples, {}", samples, limit)};
}

}  // namespace

std::optional<std::int64_t> padded_frames(const DecodeAudio& options) {
  if (!options.pad || !options.length) return std::nullopt;
  return frames_in(*options.length, options.unit, options.sample_rate.value_or(1));
}

Result<void> check_audio_options(const DecodeAudio& options) {
  const auto position = [](double value) { return value >= 0 && value <= max_position; };
  if (options.dtype != DType::float32 && options.dtype != DType::int16)
    return refusal(fmt::format("samples are float32 or int16, not {}", to_string(options.dtype))).at(Field{"dtype"});
  if (options.mono && options.channels)
    return refusal("mono rows have one channel; leave one of `mono` and `channels` out").at(Field{"channels"});
  if (!position(options.start))
    return refusal(fmt::format("must be from 0 to {}; found {}", max_position, options.start)).at(Field{"start"});
  if (options.length && !position(*options.length))
    return refusal(fmt::format("must be from 0 to {}; found {}", max_position, *options.length)).at(Field{"length"});
  if (!options.pad) return {};
  if (!options.length) return refusal("needs `length`: rows are padded to it").at(Field{"pad"});
  if (options.sample_rate.has_value() != (options.unit == AudioUnit::seconds)) {
    return refusal("needs a length in samples of the row: `unit` seconds with `sample_rate`, or samples without it")
        .at(Field{"pad"});
  }
  if (*padded_frames(options) * options.channels.value_or(1) > std::min(options.max_samples, max_elements))
    return refusal("a row of that length has more samples than max_samples").at(Field{"length"});
  return {};
}

Result<ClipDecoder::Stretch> ClipDecoder::stretch_of(const AudioReader::Header& header,
                                                     const DecodeAudio& options) const {
  Stretch out{.first = frames_in(options.start, options.unit, header.rate), .count = {}};
  const std::int64_t channels = std::max(header.channels, options.channels.value_or(1));
  const std::int64_t to = options.sample_rate.value_or(header.rate);
  // A clip that becomes longer is limited by what it becomes.
  const double growth = std::max(1.0, static_cast<double>(to) / static_cast<double>(header.rate));
  out.most = static_cast<std::int64_t>(static_cast<double>(options.max_samples / channels) / growth);
  if (options.length) out.count = frames_in(*options.length, options.unit, header.rate);
  if (!header.frames) return out;
  out.first = std::min(out.first, *header.frames);
  out.count = std::min(out.count.value_or(*header.frames), *header.frames - out.first);
  if (*out.count > out.most) return too_long(*out.count * channels, options.max_samples);
  return out;
}

Result<std::int64_t> ClipDecoder::read(const Stretch& stretch, std::int64_t channels, const StopCheck* stop) {
  const auto frame = static_cast<std::size_t>(channels) * sizeof(float);
  const std::int64_t wanted = std::min(stretch.count.value_or(stretch.most + 1), stretch.most + 1);
  samples_.clear();
  std::int64_t frames = 0;
  while (frames < wanted) {
    StopCheck::look(stop);
    const std::int64_t asked = std::min(frames_a_read, wanted - frames);
    auto* const to = reinterpret_cast<float*>(samples_.extend(static_cast<std::size_t>(asked) * frame));
    FOREBAY_TRY(const std::int64_t got, reader_.read(to, asked));
    frames += got;
    samples_.resize(static_cast<std::size_t>(frames) * frame);
    if (got < asked) break;
  }
  return frames;
}

/// Makes the channels that are wanted, in place, and returns their number.
Result<std::int64_t> ClipDecoder::mix(std::int64_t frames, std::int64_t channels, const DecodeAudio& options) {
  const std::int64_t wanted = options.mono ? 1 : options.channels.value_or(channels);
  if (wanted == channels) return wanted;
  if (!options.mono && channels != 1) {
    return Error{
        Code::data, Detail::invalid_argument,
        fmt::format("the clip has {} channels, wanted are {}; `mono` makes one of any number", channels, wanted)};
  }
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(frames, 0));
  samples_.resize(count * static_cast<std::size_t>(std::max(channels, wanted)) * sizeof(float));
  float* const samples = samples_.as<float>();
  if (wanted == 1) {
    const auto share = 1.0F / static_cast<float>(channels);
    for (std::int64_t i = 0; i < frames; ++i) {
      float sum = 0;
      for (std::int64_t c = 0; c < channels; ++c) sum += samples[i * channels + c];
      samples[i] = sum * share;
    }
  } else {
    for (std::int64_t i = frames - 1; i >= 0; --i) std::fill_n(samples + i * wanted, wanted, samples[i]);
  }
  return wanted;
}

Result<ClipDecoder::Clip> ClipDecoder::decode(std::span<const std::byte> bytes, const DecodeAudio& options,
                                              const StopCheck* stop, const StepBudget* budget) {
  FOREBAY_TRY(const AudioReader::Header header, reader_.open(bytes));
  FOREBAY_TRY(const Stretch stretch, stretch_of(header, options));
  const std::int64_t rate = options.sample_rate.value_or(header.rate);
  std::shared_ptr<void> charge;
  if (budget != nullptr && stretch.count) {
    const std::int64_t made = AudioResampler::resampled(*stretch.count, header.rate, rate);
    const std::int64_t samples =
        *stretch.count * header.channels + 2 * made * options.channels.value_or(header.channels);
    FOREBAY_TRY(charge, budget->charge(samples * static_cast<std::int64_t>(sizeof(float))));
  }
  FOREBAY_DO(reader_.seek(stretch.first));
  Clip clip{.frames = 0, .channels = 0, .rate = rate};
  FOREBAY_TRY(clip.frames, read(stretch, header.channels, stop));
  if (clip.frames > stretch.most) return too_long(clip.frames * header.channels, options.max_samples);
  if (header.frames && clip.frames < *stretch.count) {
    return Error{Code::data, Detail::data_loss,
                 fmt::format("the audio ends after {} of the {} samples that its header tells",
                             stretch.first + clip.frames, *header.frames)};
  }
  reader_.close();
  FOREBAY_TRY(clip.channels, mix(clip.frames, header.channels, options));
  result_ = &samples_;
  if (rate == header.rate) return clip;
  resampled_.clear();
  FOREBAY_DO(resampler_.run({.from = header.rate, .to = rate, .channels = clip.channels}, options.quality,
                            samples_.as<float>(), clip.frames, resampled_, stop));
  clip.frames = AudioResampler::resampled(clip.frames, header.rate, rate);
  result_ = &resampled_;
  return clip;
}

void ClipDecoder::write(const Clip& clip, DType dtype, std::int64_t elements, std::byte* out) const {
  const std::int64_t count = std::min(clip.samples(), elements);
  const float* const samples = result_->as<float>();
  if (dtype == DType::float32) {
    if (count > 0) std::memcpy(out, samples, static_cast<std::size_t>(count) * sizeof(float));
  } else {
    auto* const to = reinterpret_cast<std::int16_t*>(out);
    for (std::int64_t i = 0; i < count; ++i) {
      const float scaled = std::nearbyint(samples[i] * 32768.0F);
      to[i] = static_cast<std::int16_t>(scaled >= 32767.0F ? 32767.0F : scaled > -32768.0F ? scaled : -32768.0F);
    }
  }
  const std::size_t size = size_of(dtype);
  if (count < elements)
    std::memset(out + static_cast<std::size_t>(count) * size, 0, static_cast<std::size_t>(elements - count) * size);
}

}  // namespace forebay::steps
