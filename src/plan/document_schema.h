// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/json.h>

namespace forebay::plan {

/// JSON Schema (draft 2020-12) of both kinds of document, for editors; made from the descriptions.
[[nodiscard]] Json document_schema();

/// JSON Schema of a manifest.
[[nodiscard]] Json manifest_document_schema();

/// Every description: a list of {kind, name, doc, fields, examples}; fields are {name, doc, required, default, type,
/// schema}, where type is a Python type hint. For reference pages and for the Python package.
[[nodiscard]] Json plugin_reference();
/// The same, and the parts of documents that belong to no plug-in.
[[nodiscard]] Json document_reference();

}  // namespace forebay::plan
