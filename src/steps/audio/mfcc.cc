// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/mfcc.h>

#include <fmt/core.h>

#include "steps/audio/mel_step.h"
#include "steps/audio/spectrum.h"
#include "steps/output.h"
#include "steps/rules.h"

namespace forebay::steps {
namespace {

Result<void> check_coefficients(const Mfcc& options) {
  FOREBAY_DO(check_mel_options(options));
  if (options.n_mfcc > options.n_mels) {
    return refusal(fmt::format("must be at most n_mels, {}; found {}", options.n_mels, options.n_mfcc))
        .at(Field{"n_mfcc"});
  }
  if (!(options.lifter >= 0 && options.lifter <= 1e9))
    return refusal(fmt::format("must be from 0 to 1e9; found {}", options.lifter)).at(Field{"lifter"});
  return {};
}

Result<Bound<Step>> bind_mfcc(const Mfcc& options, const Schema& in) {
  FOREBAY_DO(check_coefficients(options));
  return bind_mel(options, options.n_mfcc, options.lifter, in);
}

Result<void> check_mfcc(const Json& options) {
  Mfcc read;
  read_mel_options(options, read);
  std::vector<Error> none;  // faults of the types are already reported
  if (const Json* const found = options.find("n_mfcc"))
    read.n_mfcc = JsonCodec<std::int64_t>::read(*found, none).value_or(read.n_mfcc);
  if (const Json* const found = options.find("lifter"))
    read.lifter = JsonCodec<double>::read(*found, none).value_or(read.lifter);
  return check_coefficients(read);
}

}  // namespace

StepType mfcc() {
  auto type = describe<StepType, Mfcc>("mfcc", "Makes mel frequency cepstral coefficients of samples.", bind_mfcc);
  add_mel_fields(type);
  type.field("n_mfcc", &Mfcc::n_mfcc, "Coefficients of a frame, at most n_mels.", {.min = 1, .max = 4096})
      .field("lifter", &Mfcc::lifter, "Above 0: coefficient k times 1 + lifter / 2 * sin(pi * (k + 1) / lifter).")
      .example(
          {.options = R"({"tensor": "x", "sample_rate": 8, "n_fft": 4, "hop_length": 2, "n_mels": 1, "n_mfcc": 1})",
           .in = R"({"x": [[0.0, 0.0]]})",
           .out = R"({"x": [[[-100.0], [-100.0]]]})"});
  return with_rules(type, check_mfcc);
}

}  // namespace forebay::steps
