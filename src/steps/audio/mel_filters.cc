// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "steps/audio/limits.h"
#include "steps/audio/spectrum.h"
#include "steps/output.h"

namespace forebay::steps {
namespace {

constexpr std::int64_t max_prime = 61;  // the time of an FFT grows with the largest prime factor of its size

// The scale of Slaney's Auditory Toolbox: linear up to 1000 Hz, logarithmic above.
constexpr double linear_hz = 200.0 / 3;
constexpr double break_hz = 1000;
constexpr double break_mel = break_hz / linear_hz;
const double log_step = std::log(6.4) / 27;

double to_mel(double hz, MelScale scale) {
  if (scale == MelScale::htk) return 2595 * std::log10(1 + hz / 700);
  return hz < break_hz ? hz / linear_hz : break_mel + std::log(hz / break_hz) / log_step;
}

double to_hz(double mel, MelScale scale) {
  if (scale == MelScale::htk) return 700 * (std::pow(10.0, mel / 2595) - 1);
  return mel < break_mel ? mel * linear_hz : break_hz * std::exp(log_step * (mel - break_mel));
}

std::int64_t largest_prime(std::int64_t number) {
  std::int64_t largest = 1;
  for (std::int64_t prime = 2; prime * prime <= number; ++prime) {
    for (; number % prime == 0; number /= prime) largest = prime;
  }
  return std::max(largest, number);
}

Result<void> check_fft(std::int64_t n_fft) {
  if (n_fft % 2 != 0) return refusal(fmt::format("must be even; found {}", n_fft)).at(Field{"n_fft"});
  if (largest_prime(n_fft) <= max_prime) return {};
  std::int64_t good = n_fft;
  while (largest_prime(good) > 5 || good % 2 != 0) ++good;
  return refusal(fmt::format("{} has a prime factor above {}; {} is a good size", n_fft, max_prime, good))
      .at(Field{"n_fft"});
}

Result<void> check_frequencies(const LogMel& options) {
  const double nyquist = options.rate() / 2;
  const double fmax = options.fmax.value_or(nyquist);
  if (!(options.fmin >= 0 && options.fmin < nyquist))
    return refusal(fmt::format("must be from 0 to below {}; found {}", nyquist, options.fmin)).at(Field{"fmin"});
  if (fmax > options.fmin && fmax <= nyquist) return {};
  return refusal(fmt::format("must be above fmin, {}, and at most half the sample rate, {}; found {}", options.fmin,
                             nyquist, fmax))
      .at(Field{"fmax"});
}

}  // namespace

MelFilters::MelFilters(const LogMel& options) {
  const double nyquist = options.rate() / 2;
  const double low = to_mel(options.fmin, options.scale);
  const double high = to_mel(options.fmax.value_or(nyquist), options.scale);
  const auto corner = [&](std::int64_t i) {
    return to_hz(low + (high - low) * static_cast<double>(i) / static_cast<double>(options.n_mels + 1), options.scale);
  };
  const auto bins = static_cast<std::size_t>(options.n_fft / 2 + 1);
  for (std::int64_t mel = 0; mel < options.n_mels; ++mel) {
    const double left = corner(mel), middle = corner(mel + 1), right = corner(mel + 2);
    const double area = options.norm == MelNorm::slaney ? 2 / (right - left) : 1;
    Filter filter{.weight = weights.size()};
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double hz = static_cast<double>(bin) * options.rate() / static_cast<double>(options.n_fft);
      const double height = std::min((hz - left) / (middle - left), (right - hz) / (right - middle));
      if (!(height > 0)) continue;
      if (filter.count == 0) filter.first = bin;
      ++filter.count;
      weights.push_back(static_cast<float>(height * area));
    }
    filters.push_back(filter);
  }
}

Result<void> check_mel_options(const LogMel& options) {
  FOREBAY_DO(check_fft(options.n_fft));
  const std::int64_t window = options.win_length.value_or(options.n_fft);
  if (window < 1 || window > options.n_fft)
    return refusal(fmt::format("must be from 1 to n_fft, {}; found {}", options.n_fft, window)).at(Field{"win_length"});
  if (options.sample_rate) FOREBAY_DO(check_frequencies(options));  // else the samples say it, and it is checked then
  if (options.power != 1 && options.power != 2)
    return refusal(fmt::format("must be 1 or 2; found {}", options.power)).at(Field{"power"});
  if (!(options.floor >= 1e-37 && options.floor <= 1e30))
    return refusal(fmt::format("must be from 1e-37 to 1e30; found {}", options.floor)).at(Field{"floor"});
  if (!(options.top_db >= 0 && options.top_db <= 1e30))
    return refusal(fmt::format("must be from 0 to 1e30; found {}", options.top_db)).at(Field{"top_db"});
  return {};
}

}  // namespace forebay::steps
