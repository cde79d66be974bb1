// SPDX-License-Identifier: Apache-2.0
#include <forebay/audio.h>
#include <forebay/plugin.h>

#include <cstring>
#include <string>

#include "steps/one_row.h"

namespace forebay {

namespace steps {

StepType decode_audio();
StepType log_mel();
StepType mfcc();

namespace {

constexpr const char* made_name = "made";
constexpr const char* rate_name = "rate";

/// The result of a step over one row of samples.
Result<Tensor> of_samples(const StepType& type, Json options, std::span<const float> samples) {
  options.set("out", Json{std::string{made_name}});
  const auto fill = [&](Column& column) {
    if (!samples.empty()) std::memcpy(column.values.data(), samples.data(), samples.size_bytes());
  };
  const Shape shape{static_cast<std::int64_t>(samples.size())};
  FOREBAY_TRY(OneRow row, OneRow::run(type, std::move(options),
                                      {.name = "samples", .dtype = DType::float32, .shape = shape}, fill));
  return row.take(made_name);
}

}  // namespace
}  // namespace steps

Result<AudioClip> decode_audio(std::span<const std::byte> file, const Json& options) {
  Json all = options;
  all.set("out", Json{std::string{steps::made_name}});
  all.set("rate_out", Json{std::string{steps::rate_name}});
  const auto fill = [&](Column& column) {
    column.push_string(file);
    column.rows = 1;
  };
  FOREBAY_TRY(steps::OneRow row, steps::OneRow::run(steps::decode_audio(), std::move(all),
                                                    {.name = "file", .dtype = DType::string, .shape = Shape{}}, fill));
  return AudioClip{.samples = row.take(steps::made_name),
                   .sample_rate = row.take(steps::rate_name).as<std::int32_t>()[0]};
}

Result<AudioClip> decode_audio(std::span<const std::byte> file, const DecodeAudio& options) {
  return decode_audio(file, steps::decode_audio().description.write(&options));
}

Result<Tensor> log_mel(std::span<const float> samples, const Json& options) {
  return steps::of_samples(steps::log_mel(), options, samples);
}

Result<Tensor> log_mel(std::span<const float> samples, const LogMel& options) {
  return log_mel(samples, steps::log_mel().description.write(&options));
}

Result<Tensor> mfcc(std::span<const float> samples, const Json& options) {
  return steps::of_samples(steps::mfcc(), options, samples);
}

Result<Tensor> mfcc(std::span<const float> samples, const Mfcc& options) {
  return mfcc(samples, steps::mfcc().description.write(&options));
}

}  // namespace forebay
