// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/decode_audio.h>

#include <array>
#include <cstring>
#include <string_view>

#include <fmt/core.h>

#include "steps/audio/clip_decoder.h"
#include "steps/audio/limits.h"
#include "steps/audio/rates.h"
#include "steps/output.h"
#include "steps/rules.h"

namespace forebay::steps {
namespace {

/// The worked example: a WAV file of two samples of 16 bits.
constexpr std::string_view two_samples = "UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAQADA";

class AudioMemory final : public StepMemory {
 public:
  [[nodiscard]] std::int64_t bytes() const override { return decoder.bytes(); }
  ClipDecoder decoder;
};

/// Decodes a column of files to samples. The plan owns the step. It is immutable: any number of workers call it at
/// once.
class AudioDecoding final : public Step {
 public:
  AudioDecoding(DecodeAudio options, ColumnId from, ColumnId to, std::optional<ColumnId> rate)
      : options_{std::move(options)}, from_{from}, to_{to}, rate_{rate}, frames_{padded_frames(options_)} {}

  [[nodiscard]] std::unique_ptr<StepMemory> memory() const override { return std::make_unique<AudioMemory>(); }

  Result<void> apply(ColumnBlock& block, const StepContext& context, StepMemory* kept) const override {
    const Column& in = block[from_];
    Column& out = block[to_];
    FOREBAY_DO(begin_output(out, out.shape, in.rows).at(Place{.feature = options_.tensor}));
    if (rate_) FOREBAY_DO(begin_output(block[*rate_], Shape{}, in.rows));
    auto& decoder = static_cast<AudioMemory&>(*kept).decoder;
    for (std::int64_t row = 0; row < in.rows; ++row) {
      const auto clip = decoder.decode(in.string(row), options_, context.stop, context.budget);
      decoder.close();
      ClipDecoder::Clip made{.frames = 0, .channels = options_.channels.value_or(1)};  // of a corrupt row
      if (clip.ok()) {
        made = *clip;
      } else {
        const Error fault = clip.error().at(Place{.feature = options_.tensor, .row = row});
        if (context.faults == nullptr || fault.detail() == Detail::resource_exhausted) return fault;
        context.faults->add(row, fault);
      }
      write(made, row, decoder, out);
      if (rate_) block[*rate_].values.as<std::int32_t>()[row] = static_cast<std::int32_t>(made.rate);
    }
    return {};
  }

 private:
  void write(const ClipDecoder::Clip& clip, std::int64_t row, const ClipDecoder& decoder, Column& out) const {
    if (out.fixed()) {
      std::byte* const to = out.values.data() + static_cast<std::size_t>(row) * out.row_bytes();
      return decoder.write(clip, options_.dtype, out.shape.count(), to);
    }
    const std::int64_t frames = frames_.value_or(clip.frames);
    const std::int64_t elements = frames * clip.channels;
    std::byte* const to = out.values.extend(static_cast<std::size_t>(elements) * size_of(options_.dtype));
    decoder.write(clip, options_.dtype, elements, to);
    const std::array<std::int64_t, 2> sizes{frames, clip.channels};
    if (frames_) return out.end_row({&sizes[1], 1});
    out.end_row({sizes.data(), out.shape.unknown()});
  }

  const DecodeAudio options_;
  const ColumnId from_, to_;
  const std::optional<ColumnId> rate_;
  const std::optional<std::int64_t> frames_;
};

Shape shape_of_clip(const DecodeAudio& options) {
  const std::int64_t frames = padded_frames(options).value_or(unknown_dim);
  if (options.mono) return Shape{frames};
  return Shape{frames, options.channels.value_or(unknown_dim)};
}

Result<Bound<Step>> bind_audio(const DecodeAudio& options, const Schema& in) {
  FOREBAY_DO(check_audio_options(options));
  FOREBAY_TRY(const ColumnId from, find_dense(in, options.tensor).at(Field{"tensor"}));
  if (in[from].dtype != DType::string || in[from].shape.rank() != 0) {
    return refusal(fmt::format("'{}' is {} of shape {}; audio is decoded from one string for each row, the bytes of a "
                               "file",
                               options.tensor, to_string(in[from].dtype), in[from].shape.text()))
        .at(Field{"tensor"});
  }
  if (options.out) FOREBAY_DO(check_new_name(*options.out, in).at(Field{"out"}));
  Schema out = in;
  const std::string name = options.out.value_or(options.tensor);
  const ColumnId to = out.put({.name = name,
                               .dtype = options.dtype,
                               .shape = shape_of_clip(options),
                               .logical = samples_of(options.sample_rate.value_or(0))});
  std::optional<ColumnId> rate;
  if (options.rate_out) {
    FOREBAY_DO(check_new_name(*options.rate_out, out).at(Field{"rate_out"}));
    rate = out.put({.name = *options.rate_out, .dtype = DType::int32, .shape = Shape{}});
  }
  return Bound<Step>{.op = std::make_unique<AudioDecoding>(options, from, to, rate),
                     .out = std::move(out),
                     .reads = {from},
                     .expensive = true};
}

Result<void> check_audio_json(const Json& options) {
  std::vector<Error> none;  // faults of the types are already reported
  DecodeAudio read;
  const auto take = [&]<class T>(const char* name, T& member) {
    const Json* const value = options.find(name);
    if (value == nullptr) return;
    if (auto found = JsonCodec<T>::read(*value, none)) member = *std::move(found);
  };
  take("mono", read.mono);
  take("channels", read.channels);
  take("sample_rate", read.sample_rate);
  take("start", read.start);
  take("length", read.length);
  take("unit", read.unit);
  take("pad", read.pad);
  take("dtype", read.dtype);
  take("max_samples", read.max_samples);
  return check_audio_options(read);
}

}  // namespace

StepType decode_audio() {
  StepType type =
      describe<StepType, DecodeAudio>(
          "decode_audio", "Decodes audio files (WAV, FLAC, Ogg Vorbis, MP3) to samples: range, channels and rate.",
          bind_audio)
          .required("tensor", &DecodeAudio::tensor, "Scalar strings: the bytes of an audio file each.")
          .field("out", &DecodeAudio::out, "Name of the samples; null: they replace the tensor.")
          .field("mono", &DecodeAudio::mono, "Whether a sample is the mean of the channels; rows are then [samples].")
          .field("channels", &DecodeAudio::channels,
                 "Channels of every row, a file of one channel is repeated; null: those of the file.",
                 {.min = 1, .max = max_channels})
          .field("sample_rate", &DecodeAudio::sample_rate, "Samples a second; null: the rate of the file.",
                 {.min = 1, .max = max_rate})
          .field("quality", &DecodeAudio::quality, "Of the resampling: quick, low, medium, high or very_high.")
          .field("start", &DecodeAudio::start, "Where the range of a file that is decoded begins, in `unit`.")
          .field("length", &DecodeAudio::length, "Length of the range, in `unit`; null: to the end of the file.")
          .field("unit", &DecodeAudio::unit, "samples: of the file, before resampling; or seconds.")
          .field("pad", &DecodeAudio::pad, "Whether zeros follow where a file ends before `length`.")
          .field("dtype", &DecodeAudio::dtype, "float32: -1 to 1; or int16.")
          .field("rate_out", &DecodeAudio::rate_out, "Name of an int32 tensor with the sample rate of each row.")
          .field("max_samples", &DecodeAudio::max_samples,
                 "A clip of more samples, over all channels, is a corrupt row.", {.min = 1, .max = max_elements})
          .example({.options = R"({"tensor": "a", "mono": true, "rate_out": "rate"})",
                    .in = R"({"a": ["base64:)" + std::string{two_samples} + R"("]})",
                    .out = R"({"a": [[0.5, -0.5]], "rate": [8000]})"});
  return with_rules(std::move(type), check_audio_json);
}

}  // namespace forebay::steps
