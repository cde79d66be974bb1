// SPDX-License-Identifier: Apache-2.0
// Documents: any text is planned, or refused with faults. A text that was read is written and read again.
#include <forebay/json.h>
#include <forebay/plan.h>

#include "fuzz/check.h"

using forebay::Json;
using forebay::fuzz::check;

namespace {

// Planning expands patterns and walks folders. Paths below a folder that does not exist keep it away from real files.
bool leaves_folder(const Json& json) {
  if (json.string().starts_with('/') || json.string().find("..") != std::string::npos) return true;
  for (const Json& item : json.items()) {
    if (leaves_folder(item)) return true;
  }
  for (const auto& [key, value] : json.members()) {
    if (leaves_folder(value)) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto json = forebay::parse_json(forebay::fuzz::text_of(data, size), "document.json");
  if (!json.ok()) {
    check(json.error().place().line > 0, "a syntax error has a line");
    return 0;
  }
  auto again = forebay::parse_json(json->text());
  check(again.ok() && *again == *json, "what is written is read as the same");
  if (leaves_folder(*json)) return 0;
  auto plan = forebay::Plan::make(*json, "/proc/self/no-such-folder");
  if (plan.ok()) {
    check(!plan->text().empty(), "a plan prints itself");
  } else {
    check(!plan.error().text().empty(), "a refusal says why");
  }
  return 0;
}
