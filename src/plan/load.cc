// SPDX-License-Identifier: Apache-2.0
#include <forebay/loader.h>

namespace forebay {

Result<Loader> load(const std::string& path, RunOptions options) {
  FOREBAY_TRY(Plan plan, Plan::load(path));
  return Loader::start(std::move(plan), options);
}

Result<Loader> load(const Json& document, RunOptions options, const std::string& folder, const Bindings& bindings) {
  FOREBAY_TRY(Plan plan, Plan::make(document, folder, bindings));
  return Loader::start(std::move(plan), options);
}

}  // namespace forebay
