// SPDX-License-Identifier: Apache-2.0
#include <forebay/plugin.h>
#include <forebay/steps/log_mel.h>

#include "steps/audio/mel_step.h"
#include "steps/audio/spectrum.h"
#include "steps/rules.h"

namespace forebay::steps {
namespace {

Result<Bound<Step>> bind_log_mel(const LogMel& options, const Schema& in) { return bind_mel(options, 0, 0, in); }

Result<void> check_log_mel(const Json& options) {
  LogMel read;
  read_mel_options(options, read);
  return check_mel_options(read);
}

}  // namespace

StepType log_mel() {
  auto type = describe<StepType, LogMel>("log_mel", "Makes mel spectrograms of samples.", bind_log_mel);
  add_mel_fields(type);
  type.example({.options = R"({"tensor": "x", "sample_rate": 8, "n_fft": 4, "hop_length": 2, "n_mels": 1})",
                .in = R"({"x": [[0.0, 0.0]]})",
                .out = R"({"x": [[[-100.0], [-100.0]]]})"});
  return with_rules(type, check_log_mel);
}

}  // namespace forebay::steps
