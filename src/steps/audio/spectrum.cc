// SPDX-License-Identifier: Apache-2.0
#include "steps/audio/spectrum.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <numbers>

#include <kiss_fftr.h>

namespace forebay::steps {
namespace {

constexpr std::int64_t frames_a_look = 256;
constexpr double pi = std::numbers::pi;

/// Cosine windows: a - (1 - a) · cos.
std::vector<float> window_of(const LogMel& options) {
  const std::int64_t length = options.win_length.value_or(options.n_fft);
  const double mean = options.window == AudioWindow::hann ? 0.5 : 0.54;
  std::vector<float> out(static_cast<std::size_t>(options.n_fft));
  const std::int64_t first = (options.n_fft - length) / 2;
  for (std::int64_t i = 0; i < length; ++i) {
    const double turn = 2 * pi * static_cast<double>(i) / static_cast<double>(length);
    out[static_cast<std::size_t>(first + i)] = static_cast<float>(mean - (1 - mean) * std::cos(turn));
  }
  return out;
}

/// The orthonormal DCT-II as a matrix, times the lifter.
std::vector<float> dct_of(std::int64_t rows, std::int64_t columns, double lifter) {
  std::vector<float> out;
  const auto size = static_cast<double>(columns);
  for (std::int64_t k = 0; k < rows; ++k) {
    const double place = static_cast<double>(k);
    const double lift = lifter > 0 ? 1 + lifter / 2 * std::sin(pi * (place + 1) / lifter) : 1;
    const double scale = std::sqrt((k == 0 ? 1 : 2) / size) * lift;
    for (std::int64_t n = 0; n < columns; ++n)
      out.push_back(static_cast<float>(scale * std::cos(pi * place * (2 * static_cast<double>(n) + 1) / (2 * size))));
  }
  return out;
}

/// The sample at a place outside of the samples: of the signal that is mirrored at its first and last one.
std::int64_t mirrored(std::int64_t at, std::int64_t samples) {
  if (samples == 1) return 0;
  const std::int64_t period = 2 * (samples - 1);
  at = ((at % period) + period) % period;
  return at < samples ? at : period - at;
}

/// The sum of products; four sums, so that they go on side by side.
float dot(const float* a, const float* b, std::size_t count) {
  float sums[4] = {};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

MelPlan::MelPlan(const LogMel& options, std::int64_t n_mfcc, double lifter)
    : options_{options},
      n_mfcc_{n_mfcc},
      filters_{options},
      window_{window_of(options)},
      dct_{dct_of(n_mfcc, options.n_mels, lifter)} {}

std::int64_t MelPlan::frames(std::int64_t samples) const {
  if (samples == 0) return 0;
  const std::int64_t padded = samples + (options_.center ? options_.n_fft / 2 * 2 : 0);
  return padded < options_.n_fft ? 0 : 1 + (padded - options_.n_fft) / options_.hop_length;
}

void MelWorker::Free::operator()(kiss_fftr_state* state) const { kiss_fftr_free(state); }

MelWorker::MelWorker(const MelPlan& plan)
    : plan_{plan}, fft_{kiss_fftr_alloc(static_cast<int>(plan.options_.n_fft), 0, nullptr, nullptr)} {
  if (fft_ == nullptr) throw std::bad_alloc{};
  const auto size = static_cast<std::size_t>(plan.options_.n_fft);
  frame_.resize(size);
  bins_.resize(size + 2);
  spectrum_.resize(size / 2 + 1);
}

std::int64_t MelWorker::bytes() const {
  const std::size_t floats = 4 * frame_.size() + bins_.size() + spectrum_.size();
  return static_cast<std::int64_t>(floats * sizeof(float) + mels_.capacity());
}

void MelWorker::window_frame(std::span<const float> samples, std::int64_t frame) {
  const LogMel& options = plan_.options_;
  const auto count = static_cast<std::int64_t>(samples.size());
  const std::int64_t first = frame * options.hop_length - (options.center ? options.n_fft / 2 : 0);
  const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, options.n_fft);
  const std::int64_t end = std::clamp<std::int64_t>(count - first, begin, options.n_fft);
  const float* const window = plan_.window_.data();
  float* const out = frame_.data();
  const auto outside = [&](std::int64_t i) {
    if (options.pad_mode == AudioPadding::constant) return 0.0F;
    const std::int64_t at = first + i;
    const bool mirror = options.pad_mode == AudioPadding::reflect;
    const std::int64_t from = mirror ? mirrored(at, count) : std::clamp<std::int64_t>(at, 0, count - 1);
    return samples[static_cast<std::size_t>(from)] * window[i];
  };
  for (std::int64_t i = 0; i < begin; ++i) out[i] = outside(i);
  const float* const from = samples.data() + first;
  for (std::int64_t i = begin; i < end; ++i) out[i] = from[i] * window[i];
  for (std::int64_t i = end; i < options.n_fft; ++i) out[i] = outside(i);
}

void MelWorker::power_spectrum() {
  auto* const bins = reinterpret_cast<kiss_fft_cpx*>(bins_.data());
  kiss_fftr(fft_.get(), frame_.data(), bins);
  const bool magnitudes = plan_.options_.power == 1;
  float* const out = spectrum_.data();
  for (std::size_t i = 0; i < spectrum_.size(); ++i) out[i] = bins[i].r * bins[i].r + bins[i].i * bins[i].i;
  if (!magnitudes) return;
  for (std::size_t i = 0; i < spectrum_.size(); ++i) out[i] = std::sqrt(out[i]);
}

void MelWorker::filter(float* mels) const {
  for (const MelFilters::Filter& filter : plan_.filters_.filters) {
    *mels++ = dot(spectrum_.data() + filter.first, plan_.filters_.weights.data() + filter.weight, filter.count);
  }
}

void MelWorker::take_logarithm(float* values, std::int64_t count) const {
  const LogMel& options = plan_.options_;
  if (options.log == MelLog::none) return;
  const auto floor = static_cast<float>(options.floor);
  float largest = -INFINITY;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = std::max(values[i], floor);
    values[i] = options.log == MelLog::ln ? std::log(value) : std::log10(value);
    if (options.log == MelLog::db) values[i] *= 10;
    largest = std::max(largest, values[i]);
  }
  if (options.log != MelLog::db || options.top_db == 0) return;
  const float lowest = largest - static_cast<float>(options.top_db);
  for (std::int64_t i = 0; i < count; ++i) values[i] = std::max(values[i], lowest);
}

void MelWorker::run(std::span<const float> samples, float* out, const StopCheck* stop) {
  const std::int64_t frames = plan_.frames(static_cast<std::int64_t>(samples.size()));
  const std::int64_t n_mels = plan_.options_.n_mels;
  float* mels = out;
  if (plan_.n_mfcc_ != 0)
    mels = reinterpret_cast<float*>(mels_.resize(static_cast<std::size_t>(frames * n_mels) * sizeof(float)));
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    if (frame % frames_a_look == 0) StopCheck::look(stop);
    window_frame(samples, frame);
    power_spectrum();
    filter(mels + frame * n_mels);
  }
  take_logarithm(mels, frames * n_mels);
  for (std::int64_t frame = 0; plan_.n_mfcc_ != 0 && frame < frames; ++frame) {
    if (frame % frames_a_look == 0) StopCheck::look(stop);
    for (std::int64_t k = 0; k < plan_.n_mfcc_; ++k) {
      *out++ = dot(mels + frame * n_mels, plan_.dct_.data() + k * n_mels, static_cast<std::size_t>(n_mels));
    }
  }
}

}  // namespace forebay::steps
