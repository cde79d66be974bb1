// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <forebay/json.h>

/// What the descriptions of all plug-ins say, for editors, reference pages and other languages.
namespace forebay {

/// JSON Schema (draft 2020-12) of both kinds of document. "x-kind" is the FieldKind of a member that has one.
[[nodiscard]] Json document_schema();

/// JSON Schema of a manifest.
[[nodiscard]] Json manifest_document_schema();

/// Every plug-in: a list of {kind, name, doc, fields, examples}. A field is {name, doc, required, default, type, kind,
/// schema}: `type` is the Python type of its JSON value, `kind` its FieldKind.
[[nodiscard]] Json plugin_reference();

/// The kinds of features for the decoders of messages, in the same form: {kind: "feature", name, doc, fields,
/// examples}. `fields` are the options that a feature of this kind has.
[[nodiscard]] Json feature_reference();

/// The plug-ins, the parts of documents that belong to no plug-in, and the kinds of features: what `explain` knows.
[[nodiscard]] Json document_reference();

}  // namespace forebay
