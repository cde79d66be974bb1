// SPDX-License-Identifier: Apache-2.0
#include "plan/document/on_corrupt.h"

#include <array>
#include <limits>
#include <string_view>

#include <forebay/describe.h>

#include "plan/document/deferred_json.h"

namespace forebay {

template <>
struct EnumNames<engine::Corrupt> {
  static constexpr std::array<std::string_view, 4> names{"fail", "skip_record", "skip_row", "skip_file"};
};

template <>
struct FieldsOf<engine::OnCorrupt> {
  static const Fields<engine::OnCorrupt>& get() {
    using engine::OnCorrupt;
    static const Fields<OnCorrupt> fields =
        Fields<OnCorrupt>{}
            .required("policy", &OnCorrupt::policy, "What a corrupt record does.")
            .field("max_count", &OnCorrupt::max_count,
                   "Skips of an epoch beyond which the run fails; null: any number.", {.min = 0})
            .field("max_fraction", &OnCorrupt::max_fraction,
                   "Skipped share of an epoch's records beyond which the run fails, from 0 to 1; null: any. A corrupt "
                   "record, an unreadable range and a file that is given up each count as one record. Judged once the "
                   "epoch had 1,000 records, and at its end.",
                   {.min = 0, .max = 1})
            .field("max_consecutive", &OnCorrupt::max_consecutive,
                   "Skips without a good record in between beyond which the run fails.", {.min = 1});
    return fields;
  }
};

std::optional<plan::PolicyOrBudgets> JsonCodec<plan::PolicyOrBudgets>::read(const Json& json,
                                                                            std::vector<Error>& faults) {
  const std::size_t before = faults.size();
  if (json.is(Json::Kind::object)) {
    static_cast<void>(JsonCodec<engine::OnCorrupt>::read(json, faults));
  } else {
    static_cast<void>(JsonCodec<engine::Corrupt>::read(json, faults));
  }
  if (faults.size() != before) return std::nullopt;
  return plan::PolicyOrBudgets{json};
}

Json JsonCodec<plan::PolicyOrBudgets>::schema() {
  return plan::any_of({JsonCodec<engine::Corrupt>::schema(), JsonCodec<engine::OnCorrupt>::schema()});
}

namespace plan {

engine::OnCorrupt read_on_corrupt(const Json& json, Faults& faults) {
  if (json.is(Json::Kind::object)) {
    return JsonCodec<engine::OnCorrupt>::read(json, faults).value_or(engine::OnCorrupt{});
  }
  return {.policy = JsonCodec<engine::Corrupt>::read(json, faults).value_or(engine::Corrupt::fail)};
}

}  // namespace plan
}  // namespace forebay
