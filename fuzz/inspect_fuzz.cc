// SPDX-License-Identifier: Apache-2.0
// What `inspect` counts of messages: it takes those that the parsers take, and counts what they give.
#include <string>
#include <variant>

#include <forebay/record.h>
#include <forebay/records.h>

#include "fuzz/check.h"
#include "tools/inspect/message_look.h"

using forebay::fuzz::check;
using forebay::tools::FeatureTable;
using forebay::tools::MessageLook;

namespace {

std::int64_t values_in(const forebay::FeatureValue& value) {
  return std::visit(
      [](const auto& list) -> std::int64_t {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::monostate>) {
          return 0;
        } else {
          return std::ssize(list);
        }
      },
      value);
}

std::int64_t values_in(const FeatureTable& table) {
  std::int64_t out = 0;
  for (const auto& [name, stats] : table.sorted()) out += stats->lengths.sum;
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string message{reinterpret_cast<const char*>(data), size};
  const auto parsed = forebay::decode_sequence_example(message);
  message.append(forebay::record_slack, '\0');
  FeatureTable context, lists;
  const auto found = MessageLook{}.add(std::string_view{message}.substr(0, size), context, lists);
  check((found == MessageLook::Found::malformed) == !parsed.ok(), "the same messages are malformed");
  if (!parsed.ok()) {
    check(context.empty() && lists.empty(), "nothing is counted of a malformed message");
    return 0;
  }
  std::int64_t values = 0, in_lists = 0;
  for (const auto& [name, value] : parsed->context)
    values += name.size() <= FeatureTable::max_name ? values_in(value) : 0;
  for (const auto& [name, steps] : parsed->lists) {
    if (name.size() > FeatureTable::max_name) continue;
    for (const auto& step : steps) in_lists += values_in(step);
  }
  const bool all = context.left_out() == 0 && lists.left_out() == 0;
  check(!all || (values_in(context) == values && values_in(lists) == in_lists), "every value is counted");
  return 0;
}
