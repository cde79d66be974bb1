// SPDX-License-Identifier: Apache-2.0
#include "engine/program/attribute_values.h"

#include <string>

#include <forebay/messages.h>

namespace forebay::engine {

namespace {

Result<void> write_found(const EarlyAttribute& attribute, const expression::Values& values, std::size_t first,
                         std::size_t stride, std::span<std::int64_t> out) {
  std::size_t row = 0;
  for (std::size_t at = first; at < out.size(); at += stride, ++row) {
    const std::string_view text = values.strings[values.constant ? 0 : row];
    const auto found = attribute.lookup.find(text);
    if (!found) {
      return Error{Code::data, Detail::invalid_argument, attribute.lookup.missing + ", " + quote(text),
                   Place{.row = static_cast<std::int64_t>(row)}};
    }
    out[at] = *found;
  }
  return {};
}

}  // namespace

Result<void> write_integers(const EarlyAttribute& attribute, const expression::Values& values, std::size_t first,
                            std::size_t stride, std::span<std::int64_t> out) {
  if (values.type == expression::Type::string) return write_found(attribute, values, first, stride, out);
  std::size_t row = 0;
  for (std::size_t at = first; at < out.size(); at += stride) out[at] = expression::attribute_of(values, row++);
  return {};
}

}  // namespace forebay::engine
