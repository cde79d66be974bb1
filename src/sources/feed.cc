// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/feed.h>

#include "sources/binding.h"

namespace forebay::sources {
namespace {

Result<Source> bind_feed(const FeedRows& options, const BindContext& context) {
  return bound_rows(options.bind, context, false, "a feed");
}

}  // namespace

SourceType feed() {
  return describe<SourceType, FeedRows>("feed", "Reads rows that the program gives while the run goes on.", bind_feed)
      .required("bind", &FeedRows::bind, "Name of the feed that the program binds.")
      .example({.options = R"({"bind": "in"})", .in = R"({"x": [1, 2, 3]})", .out = R"({"x": [1, 2, 3]})"});
}

}  // namespace forebay::sources
