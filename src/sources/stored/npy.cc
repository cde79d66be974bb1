// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/npy.h>

#include "sources/stored/array_files.h"

namespace forebay::sources {
namespace {

Result<Source> bind_npy(const Npy& options, const BindContext& context) {
  return arrays_in_files(options.arrays, options.max_bytes, context, npy_layout);
}

}  // namespace

SourceType npy() {
  SourceType out =
      describe<SourceType, Npy>("npy", "Reads npy files of numpy: rows of their first axis, ready without a decoder.",
                                bind_npy)
          .required("arrays", &Npy::arrays,
                    "The files of each tensor, by its name; file k of each one has the same number of rows.")
          .field("max_bytes", &Npy::max_bytes, "More bytes of content in all files together are an error.", {.min = 1})
          .example({.options = R"({"arrays": {"x": ["x.npy"], "y": ["y.npy"]}})",
                    .in = R"(["base64:H4sIAAAAAAACA5vsF+obEMnIUMZQrZ6SWpxcpG6loG6TZqKuo6Cell9UUpSYF59flJIKEndLzCl)"
                          R"(OBYoXZyQWpAL5GkY6CkaaOgq1CmQDLgaGA/YMDAwOQATEDQ4AvwyZNJAAAAA=", "base64:H4sIAAAAAAAC)"
                          R"(A5vsF+obEMnIUMZQrZ6SWpxcpG6loG6XaaGuo6Cell9UUpSYF59flJIKEndLzClOBYoXZyQWpAL5GkY6mjoK)"
                          R"(tQoUAC4GCGCH0hwAXJbK2pAAAAA="])",
                    .out = R"({"x": [[1.5, 2.0], [3.0, 4.0]], "y": [7, 8]})"});
  out.rows = true;
  return out;
}

}  // namespace forebay::sources
