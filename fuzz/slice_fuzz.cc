// SPDX-License-Identifier: Apache-2.0
// Slice texts: any text is accepted or refused, and an accepted one never reads outside its tensor.
#include <forebay/plugin.h>

#include "fuzz/check.h"
#include "steps/slice_text.h"

using forebay::fuzz::check;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = forebay::fuzz::text_of(data, size);
  auto items = forebay::steps::parse_slice(text);
  if (!items.ok()) check(!items.error().message().empty(), "a refusal says why");
  for (const forebay::StepType& type : forebay::Registry::global().steps()) {
    if (type.description.name != "slice") continue;
    forebay::Schema in;
    const forebay::ColumnSpec spec{.name = "x", .dtype = forebay::DType::int32, .shape = {3, 4, 2}};
    const forebay::ColumnId id = in.put(spec);
    forebay::Json options = forebay::Json::object();
    options.set("tensor", "x");
    options.set("slice", std::string{text});
    auto bound = type.bind(options, in);
    check(!bound.ok() || items.ok(), "a text that binds can be read");
    if (!bound.ok()) return 0;
    forebay::ColumnBlock block;
    for (std::size_t i = 0; i < bound->out.size(); ++i) {
      block.columns.emplace_back(bound->out[static_cast<forebay::ColumnId>(i)]).set_rows(2);
    }
    for (std::int32_t i = 0; i < 48; ++i) block[id].values.as<std::int32_t>()[i] = i;
    check(bound->op->apply(block, {}, nullptr).ok(), "a slice that binds can be applied");
    auto cut = bound->out.find("x");
    check(cut.ok() && bound->out[*cut].shape.known(), "the piece has a known shape");
    check(block[*cut].elements() <= 48, "a piece is not larger than what it was cut from");
  }
  return 0;
}
