// SPDX-License-Identifier: Apache-2.0
#include "steps/audio/resample_audio.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <soxr.h>

namespace forebay::steps {
namespace {

constexpr std::int64_t frames_a_call = 1 << 16;

Error soxr_fault(const char* what) {
  return {Code::internal, std::string{"the resampler failed: "} + (what == nullptr ? "it stopped early" : what)};
}

}  // namespace

void AudioResampler::Delete::operator()(soxr* resampler) const { soxr_delete(resampler); }

std::int64_t AudioResampler::resampled(std::int64_t frames, std::int64_t from, std::int64_t to) {
  return from == to ? frames : (2 * frames * to + from) / (2 * from);
}

Result<void> AudioResampler::begin(const Rates& rates, ResampleQuality quality) {
  if (soxr_ != nullptr && rates_ == rates) {
    if (soxr_error_t failed = soxr_clear(soxr_.get()); failed == nullptr) return {};
  }
  static constexpr std::array<unsigned long, 5> recipes{SOXR_QQ, SOXR_LQ, SOXR_MQ, SOXR_HQ, SOXR_VHQ};
  const soxr_quality_spec_t wanted = soxr_quality_spec(recipes[static_cast<std::size_t>(quality)], 0);
  const soxr_io_spec_t floats = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
  const soxr_runtime_spec_t one_thread = soxr_runtime_spec(1);
  soxr_error_t failed = nullptr;
  soxr_.reset(soxr_create(static_cast<double>(rates.from), static_cast<double>(rates.to),
                          static_cast<unsigned>(rates.channels), &failed, &floats, &wanted, &one_thread));
  if (failed != nullptr || soxr_ == nullptr) return soxr_fault(failed);
  rates_ = rates;
  return {};
}

Result<void> AudioResampler::run(const Rates& rates, ResampleQuality quality, const float* samples, std::int64_t frames,
                                 Storage& out, const StopCheck* stop) {
  const std::int64_t wanted = resampled(frames, rates.from, rates.to);
  const auto frame = static_cast<std::size_t>(rates.channels) * sizeof(float);
  std::byte* to = out.extend(static_cast<std::size_t>(wanted) * frame);
  if (wanted == 0) return {};
  FOREBAY_DO(begin(rates, quality));
  std::int64_t left = wanted;
  for (std::int64_t at = 0; left > 0;) {
    StopCheck::look(stop);
    const std::int64_t given = std::min(frames - at, frames_a_call);
    std::size_t used = 0, made = 0;
    const soxr_error_t failed =
        soxr_process(soxr_.get(), given == 0 ? nullptr : samples + at * rates.channels, static_cast<std::size_t>(given),
                     &used, to, static_cast<std::size_t>(std::min(left, frames_a_call)), &made);
    if (failed != nullptr) return soxr_fault(failed);
    at += static_cast<std::int64_t>(used);
    to += made * frame;
    left -= static_cast<std::int64_t>(made);
    if (made == 0 && given == 0) break;  // the filter is empty; the last frame, if any, is silence
  }
  std::memset(to, 0, static_cast<std::size_t>(left) * frame);
  return {};
}

}  // namespace forebay::steps
