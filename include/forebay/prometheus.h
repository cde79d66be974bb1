// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/loader.h>

namespace forebay {

/// All numbers of a run in the text format of Prometheus, for a page that its server reads. Names begin with
/// `forebay_`.
[[nodiscard]] std::string prometheus_text(const Stats& stats);

}  // namespace forebay
