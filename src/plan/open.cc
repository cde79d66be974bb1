// SPDX-License-Identifier: Apache-2.0
#include <forebay/pipeline.h>

namespace forebay {

Result<Pipeline> open(const std::string& path, RunOptions options) {
  FOREBAY_TRY(Plan plan, Plan::load(path));
  return Pipeline::start(std::move(plan), options);
}

Result<Pipeline> open(const Json& document, RunOptions options, const std::string& folder) {
  FOREBAY_TRY(Plan plan, Plan::make(document, folder));
  return Pipeline::start(std::move(plan), options);
}

}  // namespace forebay
