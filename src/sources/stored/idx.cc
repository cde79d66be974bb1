// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/idx.h>

#include "sources/stored/array_files.h"

namespace forebay::sources {
namespace {

Result<Source> bind_idx(const Idx& options, const BindContext& context) {
  return arrays_in_files(options.arrays, options.max_bytes, context, idx_layout);
}

}  // namespace

SourceType idx() {
  SourceType out =
      describe<SourceType, Idx>(
          "idx", "Reads IDX files, the format of MNIST: rows of their first axis, ready without a decoder.", bind_idx)
          .required("arrays", &Idx::arrays,
                    "The files of each tensor, by its name; file k of each one has the same number of rows.")
          .field("max_bytes", &Idx::max_bytes, "More bytes of content in all files together are an error.", {.min = 1})
          .example({.options = R"({"arrays": {"image": ["images"], "label": ["labels"]}})",
                    .in = R"(["base64:H4sIAAAAAAACA2Ng4GBiYGAAYWZGJmYWVjYASJQ+5RIAAAA=", "base64:H4sIAAAAAAACA2Ng)"
                          R"(4GFkYGBgAmLO/0AAAOlpheYQAAAA"])",
                    .out = R"({"image": [[1, 2, 3], [4, 5, 6]], "label": [9, -1]})"});
  out.rows = true;
  return out;
}

}  // namespace forebay::sources
